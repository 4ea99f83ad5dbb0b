package wire

// Config opens an engine. Every zero takes the default given.
type Config struct {
	Seed       uint64 // of the jitter in back-off
	Client     string // sent in Hello
	MaxBytes   uint64 // of memory for objects; default 512 MiB
	MaxHistory int    // changes kept per collection for resuming watches; default 1024
	Credit     uint64 // bytes in flight per subscription; default 4 MiB
	// Kubernetes is the address of a Kubernetes API that the engine reads itself,
	// with [Fetch] instead of [OpenStream]; empty where there is a connector. It
	// names the history of a cluster that does not say who it is.
	Kubernetes string
}

// Append writes the whole frame.
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

// Parse reads the payload.
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
