package coretest

import (
	"encoding/hex"
	"encoding/json"
	"io"

	"github.com/watchglass/watchglass/core"
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/body"
)

// Transcript contains every call into the engine of one scenario, in order, with the
// returned bytes.
type Transcript struct {
	Name  string
	Steps int
	Calls []Call
}

// Call is one call into the engine. Exactly one of Open, Tick, Step, Ready and Advance is
// set; bytes are in hexadecimal.
type Call struct {
	Open    string `json:"open,omitempty"` // the Config frame
	Tick    int64  `json:"tick,omitempty"` // milliseconds since the epoch
	Step    string `json:"step,omitempty"`
	Error   string `json:"error,omitempty"` // the message of the error that Open or Step returned
	Ready   string `json:"ready,omitempty"` // the returned bytes; "-" for none
	Advance bool   `json:"advance,omitempty"`
}

// Nothing is the value of Ready for a call that returned no bytes.
const Nothing = "-"

// WriteTo writes one JSON object per line. The first line contains the name and the
// number of steps, and each further line contains a call.
func (t *Transcript) WriteTo(w io.Writer) (int64, error) {
	head := struct {
		Scenario string `json:"scenario"`
		Steps    int    `json:"steps"`
	}{t.Name, t.Steps}
	count := counter{w: w}
	lines := json.NewEncoder(&count)
	if err := lines.Encode(head); err != nil {
		return count.n, err
	}
	for i := range t.Calls {
		if err := lines.Encode(&t.Calls[i]); err != nil {
			return count.n, err
		}
	}
	return count.n, nil
}

type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}

// recorded is an engine that records its calls in a transcript.
type recorded struct {
	engine *core.Engine
	calls  []Call
}

func open(config []byte) (*recorded, error) {
	e, err := core.New(config, body.Decode)
	if err != nil {
		return nil, err
	}
	return &recorded{engine: e, calls: []Call{{Open: hex.EncodeToString(config)}}}, nil
}

func (r *recorded) tick(millis int64) {
	r.calls = append(r.calls, Call{Tick: millis})
	r.engine.Tick(millis)
}

// step passes a copy of the input to the engine and then overwrites the copy. An engine
// that wrongly retains part of its input then produces wrong output.
func (r *recorded) step(frames []byte) error {
	call := Call{Step: hex.EncodeToString(frames)}
	input := append([]byte(nil), frames...)
	err := r.engine.Step(input)
	scribble(input)
	if err != nil {
		call.Error = api.AsStatus(err).Message
	}
	r.calls = append(r.calls, call)
	return err
}

// take returns the output of Ready, or nil, and calls Advance. The caller owns the
// returned bytes.
func (r *recorded) take() []byte {
	out := append([]byte(nil), r.engine.Ready()...)
	if len(out) == 0 {
		r.calls = append(r.calls, Call{Ready: Nothing})
		return nil
	}
	r.calls = append(r.calls, Call{Ready: hex.EncodeToString(out)}, Call{Advance: true})
	r.engine.Advance()
	return out
}

func scribble(b []byte) {
	for i := range b {
		b[i] = 0xee
	}
}
