package wire

import "github.com/watchglass/watchglass/core/api"

// Fragment is a piece of a long message. A client receives a message only as a whole, so
// without fragments a slow connection appears dead while a long message arrives. The
// fragments of a message follow each other without other messages in between. The message
// is the concatenated data of all its fragments.
type Fragment struct {
	Rest uint64 // bytes of the message in later fragments; zero in the last one
	Data []byte
}

// Append appends the frame to dst.
func (f *Fragment) Append(dst []byte) []byte {
	dst, start := begin(dst, TypeFragment)
	dst = appendUvarint(dst, f.Rest)
	dst = appendBytes(dst, f.Data)
	return end(dst, start)
}

// Parse sets the fields from a payload.
func (f *Fragment) Parse(payload []byte) error {
	r := reader{b: payload}
	f.Rest = r.uvarint()
	f.Data = r.bytes()
	return r.done("Fragment")
}

// Split calls send with each fragment of a message. A fragment contains at most size
// bytes of the message. A message of at most twice that size is sent unchanged. send must
// not retain its argument.
func Split(message []byte, size int, send func(message []byte) error) error {
	if len(message) <= 2*size {
		return send(message)
	}
	var buffer []byte
	for len(message) > 0 {
		n := min(size, len(message))
		f := Fragment{Rest: uint64(len(message) - n), Data: message[:n]}
		buffer = f.Append(buffer[:0])
		if err := send(buffer); err != nil {
			return err
		}
		message = message[n:]
	}
	return nil
}

// Assembly joins fragments. The zero value is ready to use.
type Assembly struct {
	joined []byte
	rest   uint64
}

// Pending reports whether the current message has further fragments.
func (a *Assembly) Pending() bool { return a.rest > 0 }

// Join processes the next message of a connection. It returns an unfragmented message
// unchanged, nil for every fragment except the last, and the joined message for the last
// one.
func (a *Assembly) Join(received []byte) (message []byte, err error) {
	t, payload, rest, err := Next(received)
	if err != nil || t != TypeFragment {
		if a.Pending() {
			return nil, api.Protocol("expected the next Fragment of a message, got another frame")
		}
		return received, nil // the parser of the message reports a malformed frame
	}
	var f Fragment
	if err := f.Parse(payload); err != nil {
		return nil, err
	}
	if len(rest) > 0 {
		return nil, api.Protocol("a Fragment is not alone in its message")
	}
	return a.add(&f)
}

func (a *Assembly) add(f *Fragment) (message []byte, err error) {
	n := uint64(len(f.Data))
	switch {
	case n == 0:
		return nil, api.Protocol("a Fragment has no data")
	case f.Rest > MaxMessage || uint64(len(a.joined))+n+f.Rest > MaxMessage:
		return nil, api.Protocol("the fragments of a message exceed 16 MiB")
	case a.Pending() && a.rest != n+f.Rest:
		return nil, api.Protocol("a Fragment does not continue the one before it")
	}
	a.joined, a.rest = append(a.joined, f.Data...), f.Rest
	if a.Pending() {
		return nil, nil
	}
	message, a.joined = a.joined, nil
	return message, nil
}
