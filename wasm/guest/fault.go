//go:build wasip1 && guestfault

package main

// faultFrame is an optional frame that the protocol does not define: type 0xff, length 0.
// A module built with the tag guestfault panics when it receives this frame, so that
// tests of drivers can cause a real panic.
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
