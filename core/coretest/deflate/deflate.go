// Package deflate compresses the blocks of snapshots in tests, with the standard
// library.
package deflate

import (
	"bytes"
	"compress/flate"
	"sync"
)

var writers = sync.Pool{New: func() any {
	w, err := flate.NewWriter(nil, flate.BestSpeed)
	if err != nil {
		panic(err) // unreachable: the level exists
	}
	return w
}}

// Sections implements the field Deflate of session.Config.
func Sections(dst, envelopes, bodies []byte) (data []byte, envelopesEnd int) {
	w := writers.Get().(*flate.Writer)
	defer writers.Put(w)
	out := bytes.NewBuffer(dst)
	w.Reset(out)
	must(w.Write(envelopes))
	must(0, w.Flush())
	envelopesEnd = out.Len() - len(dst)
	must(w.Write(bodies))
	must(0, w.Close())
	return out.Bytes(), envelopesEnd
}

// must panics on errors of a buffer, which has none.
func must(_ int, err error) {
	if err != nil {
		panic(err)
	}
}
