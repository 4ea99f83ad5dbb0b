package main

import (
	"strconv"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/wire"
)

// The codes that the exports return. The codes are part of the ABI.
const (
	codeOK       = 0
	codeRejected = 1 // the input is invalid and was not applied
	codePoisoned = 2 // a panic happened, so the instance must be discarded
	codeNotOpen  = 3 // before open or after close
)

// abiVersion changes whenever drivers must change. It consists of the version of the
// exports and the fingerprint of the frames.
const abiVersion = 1<<24 | wire.Fingerprint

const (
	// maxInput is the maximum size of an input: a command that contains a message of the
	// maximum size.
	maxInput = wire.MaxMessage + 64<<10
	// reusedInput is the maximum size of an input arena that is reused for smaller
	// messages. A larger arena is replaced.
	reusedInput = 1 << 20
	arenaStep   = 64 << 10
)

// engine is the part of core.Engine that the guest uses.
type engine interface {
	Step(frames []byte) error
	Tick(nowMillis int64)
	Ready() []byte
	Advance()
}

// guest is the state behind the exports. Its methods never panic. They return a code, or
// a length, where a negative number is a negated code.
type guest struct {
	newEngine func(config []byte) (engine, error)
	engine    engine
	poisoned  bool
	in        []byte      // the input arena
	out       []byte      // the memory that wg_out points to
	last      *api.Status // the error of the last call that returned a code other than zero
}

// reserve returns an arena of at least n bytes that is valid until the next
// call, or nil when n is out of bounds.
func (g *guest) reserve(n int32) []byte {
	if n < 0 || n > maxInput {
		return nil
	}
	size := max(int(n), 1) // so that there is always an address
	if cap(g.in) < size || cap(g.in) > reusedInput && size <= reusedInput {
		// Round up, so that messages of similar size do not each allocate a new arena.
		g.in = make([]byte, size, (size+arenaStep-1)/arenaStep*arenaStep)
	}
	g.in = g.in[:size]
	return g.in
}

// input returns the first n bytes of the arena, or an error if the arena is shorter.
func (g *guest) input(n int32) ([]byte, *api.Status) {
	if n < 0 || int(n) > len(g.in) {
		return nil, api.BadRequest("input of " + strconv.Itoa(int(n)) + " bytes in an arena of " +
			strconv.Itoa(len(g.in)) + ": reserve before you call")
	}
	return g.in[:n:n], nil
}

func (g *guest) open(n int32) (code int32) {
	defer g.guard("wg_open", &code)
	if g.poisoned {
		return codePoisoned
	}
	if g.engine != nil {
		return g.reject(api.BadRequest("the instance is open already"))
	}
	config, status := g.input(n)
	if status != nil {
		return g.reject(status)
	}
	e, err := g.newEngine(config)
	if err != nil {
		return g.reject(err)
	}
	g.engine = e
	return codeOK
}

func (g *guest) step(n int32) (code int32) {
	defer g.guard("wg_step", &code)
	if code := g.usable(); code != codeOK {
		return code
	}
	frames, status := g.input(n)
	if status != nil {
		return g.reject(status)
	}
	if err := g.engine.Step(frames); err != nil {
		return g.reject(err)
	}
	return codeOK
}

func (g *guest) tick(nowMillis int64) (code int32) {
	defer g.guard("wg_tick", &code)
	if code := g.usable(); code != codeOK {
		return code
	}
	g.engine.Tick(nowMillis)
	return codeOK
}

// ready returns the length of the output, or a negated code.
func (g *guest) ready() (length int32) {
	var code int32
	defer func() {
		if code != codeOK {
			length = -code
		}
	}()
	defer g.guard("wg_ready", &code)
	if code = g.usable(); code != codeOK {
		return 0
	}
	g.out = g.engine.Ready()
	return int32(len(g.out))
}

func (g *guest) advance() (code int32) {
	defer g.guard("wg_advance", &code)
	if code := g.usable(); code != codeOK {
		return code
	}
	g.out = nil
	g.engine.Advance()
	return codeOK
}

// errorFrame sets g.out to an ErrorReply for the last failed call. It returns the length
// of the frame, or zero if no call has failed. It works in every state, including
// poisoned.
func (g *guest) errorFrame() int32 {
	g.out = nil
	if g.last != nil {
		g.out = (&wire.ErrorReply{Status: g.last}).Append(nil)
	}
	return int32(len(g.out))
}

// close releases the engine and the buffers. The instance can be opened again.
func (g *guest) close() int32 {
	if g.poisoned {
		return codePoisoned
	}
	*g = guest{newEngine: g.newEngine}
	return codeOK
}

func (g *guest) usable() int32 {
	switch {
	case g.poisoned:
		return codePoisoned
	case g.engine == nil:
		g.last = api.BadRequest("the instance is not open")
		return codeNotOpen
	}
	return codeOK
}

//go:noinline
func (g *guest) reject(err error) int32 {
	g.last = api.AsStatus(err)
	return codeRejected
}

// guard converts a panic into the poisoned state. After a panic the state may be
// inconsistent, so the guest drops the engine and only returns the error from then on.
func (g *guest) guard(call string, code *int32) {
	if p := recover(); p != nil {
		g.poisoned, g.engine, g.in, g.out = true, nil, nil, nil
		g.last = api.Internal("panic in " + call + ": " + panicText(p))
		*code = codePoisoned
	}
}

func panicText(p any) string {
	switch p := p.(type) {
	case error:
		return p.Error()
	case string:
		return p
	}
	return "a value that is neither error nor string"
}
