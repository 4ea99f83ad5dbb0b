package connector

import (
	"bytes"

	"github.com/klauspost/compress/flate"
)

// deflateLevel is the compression level of snapshots. Level 9 would save 1% and take twice
// as long (see host/PERFORMANCE.md, P9).
const deflateLevel = 6

// deflater compresses the blocks of snapshots. The connector's lock guards it.
type deflater struct {
	writer *flate.Writer // nil until the first block
}

// sections implements session.Config.Deflate. The result envelopesEnd is relative to the
// end of dst.
func (d *deflater) sections(dst, envelopes, bodies []byte) (data []byte, envelopesEnd int) {
	out := bytes.NewBuffer(dst) // its writes never fail
	if d.writer == nil {
		d.writer, _ = flate.NewWriter(out, deflateLevel) // fails only for an unknown level
	} else {
		d.writer.Reset(out)
	}
	_, _ = d.writer.Write(envelopes)
	_ = d.writer.Flush()
	envelopesEnd = out.Len() - len(dst)
	_, _ = d.writer.Write(bodies)
	_ = d.writer.Close()
	return out.Bytes(), envelopesEnd
}
