package scenarios

import (
	"context"
	"encoding/hex"
	"fmt"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/coretest"
	"github.com/watchglass/watchglass/host/client"
)

// OnWazero replays transcripts on the module under wazero.
func OnWazero(ctx context.Context, module []byte, transcripts []*coretest.Transcript) (map[string]error, error) {
	compiled, err := client.Compile(ctx, module, "")
	if err != nil {
		return nil, err
	}
	defer compiled.Close(ctx)
	different := map[string]error{}
	for _, t := range transcripts {
		instance, err := compiled.NewInstance(ctx)
		if err != nil {
			return nil, err
		}
		if err := replayAll(instance, t.Calls); err != nil {
			different[t.Name] = err
		}
		if err := instance.Close(ctx); err != nil {
			return nil, err
		}
	}
	return different, nil
}

func replayAll(instance *client.Instance, calls []coretest.Call) error {
	for i := range calls {
		if err := replayCall(instance, &calls[i]); err != nil {
			return fmt.Errorf("call %d of %d: %w", i+1, len(calls), err)
		}
	}
	return nil
}

func replayCall(instance *client.Instance, c *coretest.Call) error {
	switch {
	case c.Open != "":
		return refusal(c, instance.Open(unhex(c.Open)))
	case c.Step != "":
		return refusal(c, instance.Step(unhex(c.Step)))
	case c.Tick != 0:
		return instance.Tick(c.Tick)
	case c.Advance:
		return instance.Advance()
	}
	out, err := instance.Ready()
	if err != nil {
		return err
	}
	got := coretest.Nothing
	if len(out) > 0 {
		got = hex.EncodeToString(out)
	}
	if got != c.Ready {
		return fmt.Errorf("ready returned %s instead of %s", got, c.Ready)
	}
	return nil
}

func refusal(c *coretest.Call, err error) error {
	got := ""
	if err != nil {
		got = api.AsStatus(err).Message
	}
	if got != c.Error {
		return fmt.Errorf("refused with %q instead of %q", got, c.Error)
	}
	return nil
}

// unhex decodes hexadecimal bytes of a transcript.
func unhex(text string) []byte {
	b, err := hex.DecodeString(text)
	if err != nil {
		panic(err)
	}
	return b
}
