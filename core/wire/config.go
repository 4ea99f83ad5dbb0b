package wire

// Config configures an engine. A zero field selects the default that its comment states.
type Config struct {
	Seed       uint64 // seed for the jitter of backoff
	Client     string // name and version of the program, sent in Hello
	MaxBytes   uint64 // memory for objects in bytes; default 512 MiB
	MaxHistory int    // changes retained per collection for resuming watches; default 1024
	Credit     uint64 // maximum bytes in flight per subscription; default 4 MiB
	// Kubernetes is the address of a Kubernetes API that the engine reads directly, with
	// [Fetch] instead of [OpenStream]. It is empty if the engine uses a connector. The
	// address also serves as the cluster ID if the engine cannot read the identity of the
	// cluster.
	Kubernetes string
}

// Append appends the frame to dst.
func (f *Config) Append(dst []byte) []byte {
	dst, start := begin(dst, TypeConfig)
	dst = appendUvarint(dst, f.Seed)
	dst = appendBytes(dst, f.Client)
	dst = appendUvarint(dst, f.MaxBytes)
	dst = appendUvarint(dst, uint64(f.MaxHistory))
	dst = appendUvarint(dst, f.Credit)
	dst = appendBytes(dst, f.Kubernetes)
	return end(dst, start)
}

// Parse sets the fields from a payload.
func (f *Config) Parse(payload []byte) error {
	r := reader{b: payload}
	f.Seed = r.uvarint()
	f.Client = r.string()
	f.MaxBytes = r.uvarint()
	f.MaxHistory = r.int()
	f.Credit = r.uvarint()
	f.Kubernetes = r.string()
	return r.done("Config")
}
