package kubewatch_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/wire"
)

// program opens a collection, and makes the server send a list and several changes.
func program(r *rig) {
	fill(r.server, 6)
	r.server.Classic = true
	r.collection()
	r.step(&wire.OpenWatch{Watch: 1, Collection: 1})
	for i := range 5 {
		r.server.put("ns-0/pod-0", "web", i)
		r.server.put(fmt.Sprintf("ns-1/new-%d", i), "db", i)
		if i > 2 {
			r.server.delete(fmt.Sprintf("ns-1/new-%d", i))
		}
		r.settle()
		r.pass(4_000)
	}
	r.converged()
}

// The events do not depend on the boundaries between the pieces of a body (rule P2). The
// test uses pieces of each size below 700 bytes, and of random sizes.
func TestP2BodiesComeInPiecesOfAnySize(t *testing.T) {
	whole := newRig(t)
	program(whole)
	for cut := 1; cut < 700; cut++ {
		r := newRig(t)
		r.piece = func(int) int { return cut }
		program(r)
		require.Equal(t, whole.events, r.events, "pieces of %d bytes", cut)
	}
	for seed := range uint64(100) {
		r, chance := newRig(t), rand.New(rand.NewPCG(seed, 1))
		r.piece = func(n int) int { return 1 + chance.IntN(n) }
		program(r)
		require.Equal(t, whole.events, r.events, "seed %d", seed)
	}
}

// An event is processed correctly wherever its bytes are cut. The test sends two
// consecutive events in two pieces, and cuts them at every byte.
func TestP2AnEventMayBeCutAnywhere(t *testing.T) {
	r := newRig(t)
	fill(r.server, 1)
	r.collection()
	stream := r.watching()
	text := func() (all []byte) {
		for range 2 {
			r.server.put("ns-0/pod-0", "web", 1)
			all = append(all, r.server.modified("ns-0/pod-0")...)
		}
		return all
	}
	for cut := range len(text()) {
		events := text()
		r.step(&wire.StreamData{Stream: stream, Data: events[:cut]})
		r.step(&wire.StreamData{Stream: stream, Data: events[cut:]})
		require.Equal(t, r.server.Newest, r.list()["ns-0/pod-0"], "cut at %d", cut)
	}
}

// Events are accepted in any valid JSON format, because not every server uses the format
// of kube-apiserver.
func TestP2EventsInAnyForm(t *testing.T) {
	for name, form := range map[string]func(event []byte) []byte{
		"indented":           func(event []byte) []byte { return indented(event) },
		"without line feeds": func(event []byte) []byte { return bytes.TrimSpace(event) },
		"carriage returns":   func(event []byte) []byte { return append(bytes.TrimSpace(event), "\r\n\r\n"...) },
		"in another order": func(event []byte) []byte {
			var e struct {
				Type   string          `json:"type"`
				Object json.RawMessage `json:"object"`
			}
			if err := json.Unmarshal(event, &e); err != nil {
				panic(err)
			}
			return fmt.Appendf(nil, `{"object":%s,"more":[1,{"type":"x"}],"type":%q}`+"\n", e.Object, e.Type)
		},
	} {
		for _, size := range []int{1, 7, 1 << 20} {
			r := newRig(t)
			fill(r.server, 2)
			r.collection()
			stream := r.watching()
			for i := range 4 {
				r.server.put("ns-0/pod-0", "web", i)
				event := form(r.server.modified("ns-0/pod-0"))
				if i == 1 { // an event in the usual format follows one in another format
					event = r.server.modified("ns-0/pod-0")
				}
				for len(event) > 0 {
					n := min(size, len(event))
					r.step(&wire.StreamData{Stream: stream, Data: append([]byte(nil), event[:n]...)})
					event = event[n:]
				}
			}
			require.Equal(t, r.server.Newest, r.list()["ns-0/pod-0"], "%s, %d at a time", name, size)
		}
	}
}

func indented(event []byte) []byte {
	var b bytes.Buffer
	if err := json.Indent(&b, event, "", "  "); err != nil {
		panic(err)
	}
	return append(b.Bytes(), '\n')
}

// P5: a document without an end uses a bounded amount of memory.
func TestP5ADocumentHasALimit(t *testing.T) {
	r := newRig(t)
	fill(r.server, 2)
	r.collection()
	stream := r.watching()
	piece := bytes.Repeat([]byte("x"), 1<<20)
	for i := range 20 {
		if r.server.open[stream] == nil {
			require.Greater(t, i, 15)
			require.Contains(t, r.state.Status.Message, "more than 16 MiB")
			r.pass(10_000)
			r.converged()
			return
		}
		r.step(&wire.StreamData{Stream: stream, Data: bytes.Clone(piece)})
	}
	t.Fatal("twenty megabytes were taken for one document")
}

func TestPathOfARequest(t *testing.T) {
	r := newRig(t)
	r.collection(func(f *wire.OpenCollection) {
		f.Resource, f.Namespace = "apps/v1/deployments", "a b"
		f.LabelSelector, f.FieldSelector = "app in (web,ü)", "metadata.name!=x"
	})
	require.Equal(t, "/apis/apps/v1/namespaces/a%20b/deployments?labelSelector=app%20in%20%28web%2C%C3%BC%29&fieldSelector=metadata.name%21%3Dx"+
		"&resourceVersionMatch=NotOlderThan&watch=1&sendInitialEvents=true&allowWatchBookmarks=true&timeoutSeconds=600", r.server.paths[1])
}

func TestCustomColumns(t *testing.T) {
	r := newRig(t)
	fill(r.server, 2)
	columns := []api.Column{{Name: "App", Kind: api.String, Path: ".metadata.labels.app"}}
	r.collection(func(f *wire.OpenCollection) { f.Columns = columns })
	r.converged()
	require.Equal(t, columns, r.schema.Schema.Columns[:1])
	require.Equal(t, 2, r.schema.Schema.TimeColumn(api.DeletionPath), "rows have times with any columns")
	r.step(&wire.OpenCollection{Collection: 2, Resource: "v1/pods", Columns: []api.Column{{Name: "X", Kind: api.String, Path: ".a[-1]"}}})
	var f wire.Rejected
	require.NoError(t, f.Parse(r.seen[wire.TypeRejected][0]))
	require.Contains(t, f.Status.Message, `".a[-1]"`)
	r.step(&wire.OpenCollection{Collection: 3, Resource: "v1/pods"})
	r.settle()
	require.Equal(t, "Ready", r.schema.Schema.Columns[0].Name, "another layout uses another store")
}

func TestMetadataOnlyHasNoBodies(t *testing.T) {
	r := newRig(t)
	fill(r.server, 2)
	r.collection(func(f *wire.OpenCollection) { f.MetadataOnly = true })
	r.step(&wire.OpenView{View: 1, Collection: 1, Limit: 10})
	r.step(&wire.Get{Request: 1, Collection: 1, Key: "ns-0/pod-0"})
	var reply wire.ObjectReply
	require.NoError(t, reply.Parse(r.seen[wire.TypeObjectReply][0]))
	require.Equal(t, api.NoBody, reply.Item.Envelope.Body().Codec)
	require.Equal(t, "Running", reply.Item.Envelope.Column(1).Text)
}

// FuzzAnswers checks that the engine survives any bytes from a server, in any
// pieces, and afterwards follows a valid server.
func FuzzAnswers(f *testing.F) {
	f.Add([]byte(`{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[{"metadata":{"name":"a","resourceVersion":"3"}}]}`), uint8(5))
	f.Add(append(watchEvent("ADDED", `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","resourceVersion":"3"}}`), bookmarkEvent(9, true)...), uint8(200))
	f.Add([]byte(`{"items":[],"metadata":{}}`), uint8(1))
	f.Add([]byte(`{"type":"ERROR","object":{"code":410}}`), uint8(3))
	f.Add([]byte("]"), uint8(3))
	f.Fuzz(func(t *testing.T, body []byte, size uint8) {
		for _, classic := range []bool{false, true} {
			r := newRig(t)
			r.server.Classic = classic
			r.piece = func(int) int { return int(size) }
			fill(r.server, 2)
			r.server.fail = func(path string) *answer {
				if classic && !paged(path) {
					return nil
				}
				return &answer{code: 200, data: bytes.Clone(body), end: true}
			}
			r.collection()
			r.pass(20_000)
			r.server.fail = nil
			r.server.Newest += 1 << 40 // the fuzzed response may have contained any version
			r.server.put("ns-0/pod-0", "web", 1)
			r.pass(100_000)
			r.step(&wire.List{Request: 9, Collection: 1, Bodies: true})
			reported := r.state.State == api.StateClosed || r.state.State == api.StateForbidden || int(r.state.ResourceVersion) < 0 ||
				r.state.ResourceVersion > api.ResourceVersion(r.server.Newest)
			if !reported { // a server may refuse permanently, or report an unreachable version
				require.Equal(t, api.StateLive, r.state.State, "%v", r.state.Status)
				var reply wire.ListReply
				require.NoError(t, reply.Parse(r.seen[wire.TypeListReply][0]))
				require.Contains(t, keys(&reply), "ns-0/pod-0")
			}
		}
	})
}

func keys(reply *wire.ListReply) []string {
	var all []string
	for i := range reply.Items {
		all = append(all, string(reply.Items[i].Envelope.Key()))
	}
	return all
}

// The client drops live events that a server sends after the end mark, even in the same
// piece. The next watch delivers these events again.
func TestR4_EventsAfterTheMarkAreLeftToTheNextWatch(t *testing.T) {
	for _, form := range []func([]byte) []byte{bytes.Clone, indented} {
		r := newRig(t)
		fill(r.server, 2)
		r.server.fail = func(path string) *answer {
			if !strings.Contains(path, initial) {
				return nil
			}
			a := &answer{code: 200}
			for _, key := range []string{"ns-0/pod-0", "ns-1/pod-1"} {
				a.data = append(a.data, form(watchEvent("ADDED", r.server.object(key)))...)
			}
			a.data = append(a.data, form(bookmarkEvent(r.server.Newest, true))...)
			r.server.put("ns-0/pod-0", "late", 1)
			r.server.put("ns-1/pod-1", "late", 1)
			a.data = append(a.data, form(r.server.modified("ns-0/pod-0"))...)
			event := form(r.server.modified("ns-1/pod-1"))
			a.data = append(a.data, event[:len(event)/2]...)
			return a
		}
		r.collection()
		r.converged()
		require.NotContains(t, r.states, api.StateReconnecting)
		require.Equal(t, 1, r.server.count(initial))
		r.pass(20_000)
		r.converged()
		require.NotContains(t, r.states, api.StateReconnecting)
	}
}
