package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core"
	"github.com/watchglass/watchglass/core/body"
	"github.com/watchglass/watchglass/core/wire"
)

type object struct {
	Metadata struct{ Name, Namespace, ResourceVersion string }
	Status   json.RawMessage
}

func (o object) key() string { return o.Metadata.Namespace + "/" + o.Metadata.Name }

// Replaying our messages or the Kubernetes events of a recording yields the same objects.
func TestBothSidesDeliverTheSameEvents(t *testing.T) {
	dir := t.TempDir()
	d := dataset{pods: 300, updates: 200, batch: 20, bodies: true, metadata: true, kubernetes: true}
	require.NoError(t, d.record(t.Context(), dir))
	theirs := readKubernetes(t, dir)
	require.Len(t, theirs, d.pods)
	require.Equal(t, theirs, readOurs(t, dir, "snapshot.bin", "updates.bin"))
	for key, o := range readOurs(t, dir, "metadata.bin", "metadata-updates.bin") {
		require.Empty(t, o.Status)
		require.Equal(t, theirs[key].Metadata, o.Metadata)
	}
}

func readKubernetes(t *testing.T, dir string) map[string]object {
	all := map[string]object{}
	data, err := os.ReadFile(filepath.Join(dir, "list.json"))
	require.NoError(t, err)
	require.Contains(t, string(data), "managedFields")
	var list struct{ Items []object }
	require.NoError(t, json.Unmarshal(data, &list))
	for _, o := range list.Items {
		all[o.key()] = o
	}
	batches, err := readChunks(filepath.Join(dir, "watch.bin"))
	require.NoError(t, err)
	require.Len(t, batches, 10)
	for lines := bufio.NewScanner(bytes.NewReader(slices.Concat(batches...))); lines.Scan(); {
		var event struct {
			Type   string
			Object object
		}
		require.NoError(t, json.Unmarshal(lines.Bytes(), &event))
		require.Equal(t, "MODIFIED", event.Type)
		require.Contains(t, all, event.Object.key())
		all[event.Object.key()] = event.Object
	}
	return all
}

// readOurs replays the named files in an engine and returns the resulting objects.
func readOurs(t *testing.T, dir string, names ...string) map[string]object {
	engine, err := core.New((&wire.Config{Seed: 1}).Append(nil), body.Decode)
	require.NoError(t, err)
	require.NoError(t, step(native{engine}, &wire.OpenCollection{Collection: 1, Resource: "v1/pods"}))
	require.NoError(t, step(native{engine}, &wire.StreamOpened{Stream: 1}))
	for _, name := range names {
		messages, err := readChunks(filepath.Join(dir, name))
		require.NoError(t, err)
		for _, message := range messages {
			require.NoError(t, step(native{engine}, &wire.StreamData{Stream: 1, Data: message}))
		}
	}
	require.NoError(t, engine.Step((&wire.List{Request: 1, Collection: 1, Bodies: true}).Append(nil)))
	var list wire.ListReply
	for out := engine.Ready(); len(out) > 0; {
		kind, payload, rest, err := wire.Next(out)
		require.NoError(t, err)
		if out = rest; kind == wire.TypeListReply {
			require.NoError(t, list.Parse(payload))
		}
	}
	all := map[string]object{}
	for _, item := range list.Items {
		var o object
		if body := item.Envelope.Body().Data; len(body) > 0 {
			require.NoError(t, json.Unmarshal(body, &o))
		}
		key := item.Envelope.Key()
		o.Metadata.Namespace, o.Metadata.Name = key.Namespace(), key.Name()
		o.Metadata.ResourceVersion = item.ResourceVersion.String()
		all[o.key()] = o
	}
	return all
}

func TestLineContainsResultAndVerdict(t *testing.T) {
	f := figure{id: "P1", targets: []target{{name: "node", atLeast: 20}, {name: "size", atMost: 1.45}}}
	node := Result{Case: "node", Ratio: 23.44, Sides: []Side{{"ours", 341_000, "/s"}, {"client-node", 14_600, "/s"}}}
	node.judge(f)
	require.Contains(t, node.String(), "bench P1 node 23.4x (ours 341000/s, client-node 14600/s)")
	require.Regexp(t, `target >= 20x +met$`, node.String())
	size := Result{Case: "size", Ratio: 1.5}
	size.judge(f)
	require.Regexp(t, `target <= 1.45x +MISSED$`, size.String())
	require.False(t, size.tooFar, "without an allowed value, no result fails")
	f.targets[1].allowed = 1.48
	size.judge(f)
	require.True(t, size.tooFar)
	other := Result{Case: "other", Ratio: 5.6, Unit: "ms"}
	other.judge(f)
	require.Equal(t, "bench P1 other 5.6 ms ()", other.String())
}

func TestFiguresAreChosenByName(t *testing.T) {
	chosen, err := choose("p9, P1")
	require.NoError(t, err)
	require.Equal(t, []string{"P9", "P1"}, []string{chosen[0].id, chosen[1].id})
	_, err = choose("P99")
	require.ErrorContains(t, err, "the figures are P1, P2")
}

func TestVersionIsInsertedIntoTheMetadata(t *testing.T) {
	value := []byte(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"spec":{"metadata":{}}}`)
	require.JSONEq(t, `{"apiVersion":"v1","kind":"Pod","metadata":{"resourceVersion":"7","name":"a"},"spec":{"metadata":{}}}`,
		string(appendVersioned(nil, value, 7)))
}
