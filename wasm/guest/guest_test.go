package main

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/wire"
)

// fake is an engine that echoes its input, fails on "bad" and panics on request.
type fake struct {
	panicIn string
	value   any
	output  []byte
	now     int64
}

func (f *fake) maybePanic(method string) {
	if f.panicIn == method {
		panic(f.value)
	}
}

func (f *fake) Step(frames []byte) error {
	f.maybePanic("Step")
	if string(frames) == "bad" {
		return api.Protocol("bad frame")
	}
	f.output = append(f.output, frames...)
	return nil
}

func (f *fake) Tick(now int64) { f.maybePanic("Tick"); f.now = now }
func (f *fake) Ready() []byte  { f.maybePanic("Ready"); return f.output }
func (f *fake) Advance()       { f.maybePanic("Advance"); f.output = nil }

func newGuest(f *fake) *guest {
	return &guest{newEngine: func(config []byte) (engine, error) {
		f.maybePanic("New")
		if string(config) != "config" {
			return nil, api.BadRequest("not a config")
		}
		return f, nil
	}}
}

// call reserves an arena, copies the input to it and calls f.
func call(t *testing.T, g *guest, f func(int32) int32, input string) int32 {
	t.Helper()
	arena := g.reserve(int32(len(input)))
	require.GreaterOrEqual(t, len(arena), len(input))
	copy(arena, input)
	return f(int32(len(input)))
}

func openFake(t *testing.T, f *fake) *guest {
	t.Helper()
	g := newGuest(f)
	require.EqualValues(t, codeOK, call(t, g, g.open, "config"))
	return g
}

func lastError(t *testing.T, g *guest) string {
	t.Helper()
	n := g.errorFrame()
	require.Len(t, g.out, int(n))
	if n == 0 {
		return ""
	}
	typ, payload, rest, err := wire.Next(g.out)
	require.NoError(t, err)
	require.Empty(t, rest)
	require.Equal(t, wire.TypeErrorReply, typ)
	var reply wire.ErrorReply
	require.NoError(t, reply.Parse(payload))
	return reply.Status.Error()
}

func TestInputIsDeliveredOnce(t *testing.T) {
	f := &fake{}
	g := openFake(t, f)
	require.EqualValues(t, codeOK, g.tick(1234))
	require.EqualValues(t, 1234, f.now)
	require.EqualValues(t, 0, g.ready())
	require.EqualValues(t, codeOK, call(t, g, g.step, "hello"))
	require.EqualValues(t, 5, g.ready())
	require.Equal(t, "hello", string(g.out))
	require.EqualValues(t, codeOK, g.advance())
	require.EqualValues(t, 0, g.ready())
	require.Empty(t, lastError(t, g))
}

func TestRejectedInputIsDescribedAndHarmless(t *testing.T) {
	g := openFake(t, &fake{})
	require.EqualValues(t, codeRejected, call(t, g, g.step, "bad"))
	require.Equal(t, "400 ProtocolError: bad frame", lastError(t, g))
	require.EqualValues(t, codeRejected, call(t, g, g.open, "config"))
	require.Equal(t, "400 BadRequest: the instance is open already", lastError(t, g))
	require.EqualValues(t, codeOK, call(t, g, g.step, "good"))
}

func TestCallsFailBeforeOpenAndAfterClose(t *testing.T) {
	notOpen := func(g *guest) {
		require.EqualValues(t, codeNotOpen, g.tick(1))
		require.EqualValues(t, codeNotOpen, call(t, g, g.step, "x"))
		require.EqualValues(t, -codeNotOpen, g.ready())
		require.EqualValues(t, codeNotOpen, g.advance())
		require.Equal(t, "400 BadRequest: the instance is not open", lastError(t, g))
	}
	g := newGuest(&fake{})
	notOpen(g)
	require.EqualValues(t, codeRejected, call(t, g, g.open, "nonsense"))
	require.Equal(t, "400 BadRequest: not a config", lastError(t, g))
	notOpen(g)
	require.EqualValues(t, codeOK, call(t, g, g.open, "config"))
	require.EqualValues(t, codeOK, g.close())
	notOpen(g)
	require.EqualValues(t, codeOK, call(t, g, g.open, "config"))
}

func TestArenaIsBoundedAndShrinks(t *testing.T) {
	g := openFake(t, &fake{})
	require.Nil(t, g.reserve(-1))
	require.Nil(t, g.reserve(maxInput+1))
	require.NotEmpty(t, g.reserve(0), "the address is never zero")
	require.GreaterOrEqual(t, len(g.reserve(maxInput)), maxInput)
	require.LessOrEqual(t, len(g.reserve(10)), reusedInput, "the memory of a large message is released")

	for _, n := range []int32{-1, 11} {
		require.EqualValues(t, codeRejected, g.step(n))
	}
	require.Equal(t, "400 BadRequest: input of 11 bytes in an arena of 10: reserve before you call", lastError(t, g))
}

func TestPanicPoisons(t *testing.T) {
	for method, enter := range map[string]func(g *guest) int32{
		"New":     func(g *guest) int32 { return g.open(6) },
		"Step":    func(g *guest) int32 { return g.step(6) },
		"Tick":    func(g *guest) int32 { return g.tick(1) },
		"Ready":   func(g *guest) int32 { return -g.ready() },
		"Advance": func(g *guest) int32 { return g.advance() },
	} {
		t.Run(method, func(t *testing.T) {
			f := &fake{panicIn: method, value: "index out of range"}
			g := newGuest(f)
			copy(g.reserve(6), "config")
			if method != "New" {
				require.EqualValues(t, codeOK, g.open(6))
			}
			require.EqualValues(t, codePoisoned, enter(g))
			require.Contains(t, lastError(t, g), ": index out of range")
			requirePoisoned(t, g)
		})
	}
}

func requirePoisoned(t *testing.T, g *guest) {
	t.Helper()
	require.EqualValues(t, codePoisoned, g.open(0))
	require.EqualValues(t, codePoisoned, g.step(0))
	require.EqualValues(t, codePoisoned, g.tick(2))
	require.EqualValues(t, -codePoisoned, g.ready())
	require.EqualValues(t, codePoisoned, g.advance())
	require.EqualValues(t, codePoisoned, g.close())
	require.Contains(t, lastError(t, g), "500 InternalError: panic in wg_", "the first cause stays")
}

func TestPanicTextOfAnyValue(t *testing.T) {
	require.Equal(t, "text", panicText("text"))
	require.Equal(t, "wrapped", panicText(errors.New("wrapped")))
	require.Equal(t, "a value that is neither error nor string", panicText(7))
}
