//go:build !wasip1

package bodies

import (
	"github.com/klauspost/compress/s2"

	"github.com/watchglass/watchglass/core/api"
)

// minCompressed is the size below which a body travels as it is: there is
// nothing to win, and plain bytes need no decoder.
const minCompressed = 64

// Encoder makes bodies for the objects of one resource. It is safe for
// concurrent use.
type Encoder struct {
	dict *s2.Dict // nil for none
}

// NewEncoder makes an encoder that uses the dictionary, or plain S2 when that
// is nil. The dictionary must be one of [TrainDictionary]; anything else is a
// 400 *api.Status.
func NewEncoder(dictionary []byte) (*Encoder, error) {
	if len(dictionary) == 0 {
		return &Encoder{}, nil
	}
	dict := s2.NewDict(dictionary)
	if dict == nil {
		return nil, notADictionary()
	}
	return &Encoder{dict: dict}, nil
}

func notADictionary() error { return api.BadRequest("not a dictionary that TrainDictionary made") }

// Encode appends the encoded JSON to dst; the body's data is the part that was
// appended. A body that does not get smaller stays plain JSON.
func (e *Encoder) Encode(dst, json []byte) api.Body {
	if len(json) >= minCompressed {
		if body := e.compress(dst, json); len(body.Data) < len(json) {
			return body
		}
	}
	return api.Body{Codec: api.JSON, Data: append(dst, json...)[len(dst):]}
}

func (e *Encoder) compress(dst, json []byte) api.Body {
	// s2 writes into the capacity of what it is given, from the start.
	free := dst[len(dst):cap(dst)]
	if e.dict != nil {
		return api.Body{Codec: api.S2Dict, Data: e.dict.EncodeBetter(free, json)}
	}
	return api.Body{Codec: api.S2, Data: s2.EncodeBetter(free, json)}
}
