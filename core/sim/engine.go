package sim

import (
	"sync"

	"github.com/watchglass/watchglass/core"
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/wasm/bodies"
	"github.com/watchglass/watchglass/wasm/bodies/skeleton"
)

// Engine is what a reader drives: one of package core, or the module.
type Engine interface {
	Step(frames []byte) error
	Tick(nowMillis int64)
	Ready() []byte
	Advance()
	LoadWith(core.Loader)
}

// native makes the engines of package core.
func (s *Setup) native(config []byte) (Engine, error) {
	decode := s.Codec.Decode
	if decode == nil {
		decode = bodies.Decode
	}
	return core.New(config, decode)
}

// dictionaries are those of real connectors.
var dictionaries = sync.OnceValue(func() (all [kinds][]byte) {
	for k := range kinds {
		schema := schemaOf(k)
		all[k] = skeleton.Dictionary(schema.Resource, schema.Kind)
	}
	return all
})

// chooseCodec takes what connectors really use for half of the seeds: packed
// bodies and the public dictionaries of their resources.
func (w *world) chooseCodec(seed uint64) {
	given := w.setup.Codec
	for k := range kinds {
		c := given
		packed := given.Encode == nil && given.Padding == 0 && api.NewRand(seed^0xc0dec).Int63n(2) == 0
		if packed {
			c.Dictionary = dictionaries()[k]
		}
		encoder, err := bodies.NewEncoder(c.Dictionary)
		must(err)
		if packed {
			c.Encode = encoder.Encode
		}
		w.codecs[k], w.encoders[k] = c, encoder
	}
}

// Codec compresses the bodies of objects. The zero value leaves them as they
// are.
type Codec struct {
	Padding    int // bytes that bodies are longer by, all alike
	Dictionary []byte
	Encode     func(dst, json []byte) api.Body
	Decode     core.Decoder
}
