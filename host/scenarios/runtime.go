package scenarios

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/watchglass/watchglass/core/coretest"
)

// Replay replays transcripts on a module. It returns one error per differing
// transcript, by the name of the scenario.
type Replay func(ctx context.Context, module []byte, transcripts []*coretest.Transcript) (map[string]error, error)

// Runtime is an environment in which the module runs.
type Runtime struct {
	Name   string
	Replay Replay
}

// Runtimes returns the runtimes that replay transcripts. The native engine, which
// generates the transcripts, is not among them.
func (t Tree) Runtimes() []Runtime {
	return []Runtime{{"wazero", OnWazero}, {"Node", OnNode}, {"Chromium", OnChromium}, {"workerd", t.OnWorkerd}}
}

// Check replays the transcripts, and returns one error per differing transcript, as
// Replay does. It also replays a forged transcript, which must differ. This proves that
// the driver compares outputs.
func (r Runtime) Check(ctx context.Context, module []byte, transcripts []*coretest.Transcript) (map[string]error, error) {
	forged, err := forge(transcripts)
	if err != nil {
		return nil, err
	}
	different, err := r.Replay(ctx, module, append(transcripts[:len(transcripts):len(transcripts)], forged))
	if err != nil {
		return nil, err
	}
	if found := different[forged.Name]; found == nil || !strings.Contains(found.Error(), "ready returned - instead of 00") {
		return nil, fmt.Errorf("the driver does not compare transcripts: it reported %v for a modified one", found)
	}
	delete(different, forged.Name)
	return different, nil
}

// forge returns a copy of one of the transcripts with a different last output.
func forge(transcripts []*coretest.Transcript) (*coretest.Transcript, error) {
	for _, t := range transcripts {
		last := len(t.Calls) - 1
		if last < 0 || t.Calls[last].Ready != coretest.Nothing {
			continue
		}
		forged := *t
		forged.Name = "forged"
		forged.Calls = slices.Clone(t.Calls)
		forged.Calls[last].Ready = "00"
		return &forged, nil
	}
	return nil, errors.New("no transcript ends with an output that can be modified")
}
