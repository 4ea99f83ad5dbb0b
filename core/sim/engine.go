package sim

import (
	"github.com/watchglass/watchglass/core"
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/wasm/bodies"
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

// Codec compresses the bodies of objects. The zero value leaves them as they
// are.
type Codec struct {
	Padding    int // bytes that bodies are longer by, all alike
	Dictionary []byte
	Encode     func(dst, json []byte) api.Body
	Decode     core.Decoder
}
