package wire

// Checksum contains the checksum of the preceding bytes of the message. A reader refuses
// a message whose checksum differs, and accepts a message without a Checksum.
//
// TCP and TLS protect the data on each connection, but not inside a proxy between two
// connections. A body with a changed byte often decodes without an error, to a different
// object.
type Checksum struct {
	Sum uint32
}

// Append appends the frame to dst.
func (f *Checksum) Append(dst []byte) []byte {
	dst, start := begin(dst, TypeChecksum)
	return end(appendUvarint(dst, uint64(f.Sum)), start)
}

// Parse sets the fields from a payload.
func (f *Checksum) Parse(payload []byte) error {
	r := reader{b: payload}
	f.Sum = r.uint32()
	return r.done("Checksum")
}

// AppendChecksum appends a Checksum frame to a message and returns the extended message.
func AppendChecksum(message []byte) []byte {
	return (&Checksum{Sum: messageSum(message)}).Append(message)
}

// Intact reports whether the Checksum of a message matches. It also returns true for a
// message without a Checksum, or with an invalid frame before the Checksum.
func Intact(message []byte) bool {
	for left := message; len(left) > 0; {
		t, payload, rest, err := Next(left)
		if err != nil {
			break
		}
		if t == TypeChecksum {
			r := reader{b: payload}
			return r.uint32() == messageSum(message[:len(message)-len(left)])
		}
		left = rest
	}
	return true
}

// messageSum returns the checksum of a message, folded to 32 bits. The halves of the
// checksum depend on each other, so an XOR of both may hide a change. messageSum
// therefore first applies the finalizer of MurmurHash3, a bijection that makes each bit
// depend on every bit of the checksum.
func messageSum(message []byte) uint32 {
	sum := checksum(message)
	sum = (sum ^ sum>>33) * 0xff51afd7ed558ccd
	sum = (sum ^ sum>>33) * 0xc4ceb9fe1a85ec53
	return uint32(sum ^ sum>>33)
}

// checksum returns a hash similar to FNV-1a. It hashes words of eight bytes in four
// independent lanes, which a processor computes in parallel. Any change within one word
// changes the result. The result is never zero, because zero stands for a missing chunk.
func checksum(b []byte) uint64 {
	const offset, prime = 14695981039346656037, 1099511628211
	h0 := offset ^ uint64(len(b))
	h1, h2, h3 := h0+1, h0+2, h0+3
	for ; len(b) >= 32; b = b[32:] {
		h0 = addWord(h0, b)
		h1 = addWord(h1, b[8:])
		h2 = addWord(h2, b[16:])
		h3 = addWord(h3, b[24:])
	}
	h := ((h0*prime^h1)*prime^h2)*prime ^ h3
	for _, c := range b {
		h = (h ^ uint64(c)) * prime
	}
	return max(h, 1)
}

// addWord returns the hash h after adding the first eight bytes of b.
func addWord(h uint64, b []byte) uint64 {
	const prime = 1099511628211
	word := uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24 |
		uint64(b[4])<<32 | uint64(b[5])<<40 | uint64(b[6])<<48 | uint64(b[7])<<56
	h = (h ^ word) * prime
	return h ^ h>>32
}
