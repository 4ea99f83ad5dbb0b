package body

import "github.com/watchglass/watchglass/core/api"

// Decoder decodes bodies into buffers that it reuses.
type Decoder struct{ plain, base []byte }

// Decode returns the plain JSON of a body, which is valid until the next call. For a body
// of codec Delta, base is the encoded body of the version that the delta applies to. For
// other codecs, base is the zero Body. The dictionary is the one that both bodies were
// encoded with, or nil.
func (d *Decoder) Decode(body, base api.Body, dictionary []byte) (plain []byte, err error) {
	d.base = d.base[:0]
	if base.Codec != api.NoBody {
		if d.base, err = Decode(d.base, base, dictionary, nil); err != nil {
			return nil, err
		}
	}
	d.plain, err = Decode(d.plain[:0], body, dictionary, d.base)
	return d.plain, err
}
