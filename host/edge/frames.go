package edge

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/watchglass/watchglass/core/wire"
)

// maxFrame is the maximum size of a frame in bytes. A frame of this size has room for at
// least a hundred of the largest objects that etcd accepts by default.
const maxFrame = 160 << 20

// frames reads the frames of a reply.
type frames struct{ r *bufio.Reader }

func newFrames(r io.Reader) *frames { return &frames{bufio.NewReaderSize(r, 64<<10)} }

// next returns the next frame, or io.EOF if the stream ends between two frames. The
// caller owns the payload.
func (f *frames) next() (wire.Type, []byte, error) {
	t, err := f.r.ReadByte()
	if err != nil {
		return 0, nil, err
	}
	n, err := binary.ReadUvarint(f.r)
	if err != nil {
		return 0, nil, broken(err)
	}
	if n > maxFrame {
		return 0, nil, fmt.Errorf("a frame of %d bytes, the limit is %d", n, maxFrame)
	}
	payload := make([]byte, n)
	if _, err := io.ReadFull(f.r, payload); err != nil {
		return 0, nil, broken(err)
	}
	return wire.Type(t), payload, nil
}

// expect reads and parses the next frame, which must have the type want. It returns io.EOF
// at the end of the stream.
func (f *frames) expect(want wire.Type, frame interface{ Parse([]byte) error }) error {
	t, payload, err := f.next()
	if err != nil {
		return err
	}
	if t != want {
		return fmt.Errorf("a frame of type 0x%x, expected 0x%x", byte(t), byte(want))
	}
	return frame.Parse(payload)
}

// broken converts io.EOF to io.ErrUnexpectedEOF, for a stream that ends too early.
func broken(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
