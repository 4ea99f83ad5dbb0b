//go:build wasip1 && guestfault

package main

// faultFrame is an optional frame that no engine knows, and on which a module
// built with the tag guestfault panics, so that drivers can be tested with the
// real thing: type 0xff, length 0.
const faultFrame = "\xff\x00"

type faulty struct{ engine }

func (f faulty) Step(frames []byte) error {
	if string(frames) == faultFrame {
		var noEngine *faulty
		return noEngine.Step(frames)
	}
	return f.engine.Step(frames)
}

func init() {
	open := instance.newEngine
	instance.newEngine = func(config []byte) (engine, error) {
		e, err := open(config)
		return faulty{e}, err
	}
}
