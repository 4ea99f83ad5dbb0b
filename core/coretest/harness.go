package coretest

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/watchglass/watchglass/core/wire"
)

// harness runs an engine, a network, a connector, and the program that uses the
// engine, in one goroutine.
type harness struct {
	*recorded
	config    wire.Config
	connector *connector
	network   network
	printer   printer

	now       int64 // time of everything except the engine, in milliseconds
	skew      int64 // offset of the engine's clock
	wake      int64 // time of the engine's next tick, on the engine's clock
	heartbeat int64 // interval of progress reports of all sources; zero for none
	beat      int64 // time of the next progress report
	request   uint32
	token     string // continue token of the last page
	snapshots []*snapshot
	// chunkWanted means that the harness must request the next chunk for the request
	// chunkOf.
	chunkWanted bool
	chunkOf     uint32
	saved       map[uint32][]byte // saved sessions, by reader
	patched     []uint32          // the views whose next patch must be granted
	held        map[uint32]bool   // the views whose patches only a verb grants
}

const (
	startMillis = 1_000_000_000
	// maxMoves limits the moves after a verb, so that an endless exchange of messages is
	// an error.
	maxMoves = 100_000
)

func newHarness() *harness {
	h := &harness{
		config: wire.Config{Seed: 1, Client: "scenario"}, connector: newConnector(), now: startMillis, saved: map[uint32][]byte{}, held: map[uint32]bool{},
	}
	h.network.limit = 64 << 10
	h.printer = newPrinter()
	return h
}

// Run runs the scenario. It returns the engine's output of each step and the transcript.
// Run returns a panic as an error, so that other scenarios can still run.
func (s *Scenario) Run() (outputs []string, t *Transcript, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%s: panic: %v\n%s", s.path, p, debug.Stack())
		}
	}()
	h := newHarness()
	for i := range s.steps {
		for _, v := range s.steps[i].verbs {
			if err := h.do(v.clone()); err != nil {
				return nil, nil, s.errorAt(v.line, "%s: %w", v.name, err)
			}
		}
		outputs = append(outputs, h.printer.take())
	}
	t = &Transcript{Name: s.Name, Steps: len(s.steps)}
	if h.recorded != nil {
		t.Calls = h.calls
	}
	return outputs, t, nil
}

// Check runs the scenario, and returns an error if an output differs from the output in
// the file.
func (s *Scenario) Check() error {
	outputs, _, err := s.Run()
	if err != nil {
		return err
	}
	for i, st := range s.steps {
		if outputs[i] != st.want {
			return s.errorAt(st.from, "the output of the engine differs.\n%s", difference(st.want, outputs[i]))
		}
	}
	return nil
}

// Rewrite runs the scenario and writes the engine's outputs to its file.
func (s *Scenario) Rewrite() error {
	outputs, _, err := s.Run()
	if err != nil {
		return err
	}
	return os.WriteFile(s.path, []byte(s.rewritten(outputs)), 0o644)
}

// Compile runs the scenario of a file and returns its transcript.
func Compile(path string) (*Transcript, error) {
	s, err := Load(path)
	if err != nil {
		return nil, err
	}
	_, t, err := s.Run()
	return t, err
}

func difference(want, got string) string {
	var b strings.Builder
	w, g := strings.SplitAfter(want, "\n"), strings.SplitAfter(got, "\n")
	for i := range max(len(w), len(g)) {
		switch {
		case i < len(w) && i < len(g) && w[i] == g[i]:
			b.WriteString("    " + w[i])
		default:
			if i < len(w) && w[i] != "" {
				b.WriteString("  - " + w[i])
			}
			if i < len(g) && g[i] != "" {
				b.WriteString("  + " + g[i])
			}
		}
	}
	return b.String()
}

// do executes one verb, and then delivers messages until none is left.
func (h *harness) do(v *verb) error {
	handle, ok := verbs[v.name]
	if !ok {
		return fmt.Errorf("there is no such verb; there are %s", strings.Join(verbNames(), ", "))
	}
	if h.recorded == nil && v.name != "config" {
		if err := h.start(); err != nil {
			return err
		}
	}
	if err := handle(h, v); err != nil {
		return err
	}
	if h.recorded == nil {
		return nil
	}
	return h.stabilize()
}

func (h *harness) start() (err error) {
	h.recorded, err = open(h.config.Append(nil))
	if err == nil {
		h.tickEngine()
	}
	return err
}

func (h *harness) tickEngine() { h.tick(h.now + h.skew) }

type frame interface{ Append([]byte) []byte }

// toEngine passes one frame to the engine at the current time.
func (h *harness) toEngine(f frame) error {
	h.tickEngine()
	return h.step(f.Append(nil))
}

// stabilize moves frames and messages until none are left. It returns an error if the
// exchange does not end.
func (h *harness) stabilize() error {
	for range maxMoves {
		if err := h.drain(); err != nil {
			return err
		}
		moved, err := h.move()
		if err != nil {
			return err
		}
		if !moved {
			return nil
		}
	}
	return errors.New("engine and connector exchange messages without end")
}

// drain takes all output of the engine, prints it, and executes the engine's
// requests.
func (h *harness) drain() error {
	for out := h.take(); out != nil; out = h.take() {
		if err := wire.FromEngine.Each(out, h.output); err != nil {
			return fmt.Errorf("the engine put out a broken frame: %w", err)
		}
	}
	return nil
}

// output processes one frame of the engine. It executes requests, and prints all frames
// except wake-ups.
func (h *harness) output(t wire.Type, frame wire.Frame) error {
	n := &h.network
	switch f := frame.(type) {
	case *wire.WakeAt:
		h.wake = f.Millis
		return nil
	case *wire.OpenStream:
		n.forget()
		n.opening = f.Stream
	case *wire.ViewPatch:
		if !h.held[f.View] {
			h.patched = append(h.patched, f.View)
		}
	case *wire.CloseStream:
		n.forget()
		n.opening = 0
	case *wire.SendStream:
		if f.Stream != n.stream {
			return fmt.Errorf("stream %d is not open, and something is sent on it", f.Stream)
		}
		n.send(message{up: true, data: append([]byte(nil), f.Data...)})
	case *wire.SnapshotChunk:
		return h.takeChunk(f)
	case *wire.SavedReader:
		h.saved[f.Reader] = slices.Clone(f.Data)
	case *wire.ListReply:
		h.token = f.Continue
	}
	return h.printer.frame(t, frame, h.now+h.skew)
}
