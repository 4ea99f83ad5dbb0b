package core

import (
	"github.com/watchglass/watchglass/core/api"
)

// Decoder turns a body into plain JSON, appended to dst. The dictionary is the
// one the body was made with, nil for none. The core never looks into a body
// itself; the program around it brings the codec.
type Decoder func(dst []byte, body api.Body, dictionary []byte) ([]byte, error)

// Engine is the whole reader's side for one origin.
type Engine struct{}

// New opens an engine. config is one wire.Config frame.
func New(config []byte, decode Decoder) (*Engine, error) { return &Engine{}, nil }

// Step takes commands and results of I/O, one or more whole frames.
func (e *Engine) Step(frames []byte) error { return nil }

// Tick tells the time in milliseconds since the epoch. It never goes back.
func (e *Engine) Tick(nowMillis int64) {}

// Ready returns frames for the program, or nil.
func (e *Engine) Ready() []byte { return nil }

// Advance gives the memory of the last Ready back.
func (e *Engine) Advance() {}
