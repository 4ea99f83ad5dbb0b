package sim

import (
	"sync"

	"github.com/watchglass/watchglass/core"
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/body"
	"github.com/watchglass/watchglass/core/body/skeleton"
	"github.com/watchglass/watchglass/core/internal/lite"
)

// Engine is the engine of a reader: one of package core, or the WebAssembly
// module.
type Engine interface {
	Step(frames []byte) error
	Tick(nowMillis int64)
	Ready() []byte
	Advance()
	LoadWith(core.Loader)
}

// native creates an engine of package core.
func (s *Setup) native(config []byte) (Engine, error) {
	decode := s.Codec.Decode
	if decode == nil {
		decode = body.Decode
	}
	e, err := core.New(config, decode)
	if err == nil && s.ViewWork > 0 {
		e.LimitViewWork(s.ViewWork)
	}
	return e, err
}

// dictionaries returns, by kind, the dictionaries that real connectors use.
var dictionaries = sync.OnceValue(func() (all [kinds][]byte) {
	for k := range kinds {
		schema := schemaOf(k)
		all[k] = skeleton.Dictionary(schema.Resource, schema.Kind)
	}
	return all
})

// chooseCodec chooses the codec of bodies. Half of the seeds use the codec of real connectors:
// packed bodies and the public dictionaries of their resources.
func (w *world) chooseCodec(seed uint64) {
	given := w.setup.Codec
	for k := range kinds {
		c := given
		packed := given.Encode == nil && given.Padding == 0 && lite.NewRand(seed^0xc0dec).Int63n(2) == 0
		if packed {
			c.Dictionary = dictionaries()[k]
		}
		encoder, err := body.NewEncoder(c.Dictionary)
		must(err)
		if packed {
			c.Encode = encoder.Encode
		}
		w.codecs[k], w.encoders[k] = c, encoder
	}
}

// Codec compresses bodies. The zero value leaves them unchanged.
type Codec struct {
	Padding    int // bytes of equal padding in every body
	Dictionary []byte
	Encode     func(dst, json []byte) api.Body
	Decode     core.Decoder
}
