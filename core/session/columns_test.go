package session_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/body"
	"github.com/watchglass/watchglass/core/cacher"
	"github.com/watchglass/watchglass/core/coretest/deflate"
	"github.com/watchglass/watchglass/core/coretest/objects"
	"github.com/watchglass/watchglass/core/history"
	"github.com/watchglass/watchglass/core/session"
	"github.com/watchglass/watchglass/core/watcher"
	"github.com/watchglass/watchglass/core/wire"
)

// chooser is a session with the data that its subscriptions have received: the schema,
// the last cells of each object, and the status that ended the subscription.
type chooser struct {
	*session.Session
	t        *testing.T
	meter    watcher.Meter
	blocks   int
	schemas  map[uint32]api.Schema
	cells    map[uint32]map[api.Key]string
	statuses map[uint32]*api.Status
}

func newChooser(t *testing.T, c *session.Served) *chooser {
	r := &chooser{t: t, schemas: map[uint32]api.Schema{}, cells: map[uint32]map[api.Key]string{}, statuses: map[uint32]*api.Status{}}
	r.meter.Grant(1 << 40)
	r.Session = session.New(session.Config{Decode: new(body.Decoder).Decode, Deflate: deflate.Sections, Meter: &r.meter}, one{c.Collection})
	require.NoError(t, r.Receive((&wire.Hello{Version: wire.Version}).Append(nil), 1000))
	return r
}

// paths returns a column of strings for each path.
func paths(all ...string) []api.Column {
	columns := make([]api.Column, len(all))
	for i, path := range all {
		columns[i] = api.Column{Name: fmt.Sprint("C", i), Kind: api.String, Path: path}
	}
	return columns
}

func (r *chooser) subscribe(f wire.Subscribe, columns ...api.Column) {
	f.Resource, f.Credit = "v1/pods", 1<<40
	var message []byte
	if len(columns) > 0 {
		message = (&wire.ChooseColumns{Subscription: f.Subscription, Columns: columns}).Append(nil)
	}
	require.NoError(r.t, r.Receive(f.Append(message), 1000))
}

// pull receives everything that the session sends.
func (r *chooser) pull() {
	for {
		message := r.Next(1<<16, 1000)
		if message == nil {
			return
		}
		require.NoError(r.t, wire.FromConnector.Each(message, r.take))
	}
}

func (r *chooser) take(_ wire.Type, f wire.Frame) error {
	switch f := f.(type) {
	case *wire.Schema:
		r.schemas[f.Subscription] = f.Schema
	case *wire.SnapshotBegin:
		r.cells[f.Subscription] = map[api.Key]string{}
	case *wire.SnapshotPart:
		r.changes(f.Subscription, f.Objects)
	case *wire.SnapshotBlock:
		var b wire.Block
		r.blocks++
		require.Nil(r.t, f.Expand(&b, true))
		r.changes(f.Subscription, b.Objects)
	case *wire.Events:
		r.changes(f.Subscription, f.Changes)
	case *wire.SubscriptionStatus:
		r.statuses[f.Subscription] = f.Status
	}
	return nil
}

func (r *chooser) changes(id uint32, changes []wire.Change) {
	for i := range changes {
		c := &changes[i]
		if c.Type == api.Deleted {
			delete(r.cells[id], c.Key)
			continue
		}
		if len(c.Envelope) == 0 {
			r.cells[id][c.Key] = "patch"
			continue
		}
		var cells []string
		for i, column := range r.schemas[id].Columns {
			if !column.Hidden() {
				cells = append(cells, strings.Clone(c.Envelope.Column(i).String()))
			}
		}
		r.cells[id][api.Key(strings.Clone(string(c.Envelope.Key())))] = strings.Join(cells, " ")
	}
}

// withJSON returns a pod whose body is JSON.
func withJSON(key string, rv int, json string) *cacher.Update {
	o := objects.Object(fmt.Sprintf("%s rv=%d phase=Running", key, rv))
	o.Body = api.Body{Codec: api.JSON, Data: []byte(json)}
	return objects.UpdateOf(o)
}

// podsWith returns a collection with one pod per body, named ns/a, ns/b and so on.
func podsWith(t *testing.T, bodies ...string) *session.Served {
	c := session.Serve(cacher.New(cacher.Config{Schema: objects.Pods(), History: history.Limits{MinCapacity: 64, MaxCapacity: 64}, DeltaEpoch: 1}))
	c.Listing().Begin()
	for i, json := range bodies {
		require.Nil(t, c.Listing().Object(withJSON("ns/"+string(rune('a'+i)), i+1, json)))
	}
	c.Listing().End(api.ResourceVersion(len(bodies)), 1000)
	return c
}

const named = `{"metadata":{"name":"a"},"spec":{"x":%q}}`

func TestOnlyTheReaderThatChoosesColumnsReceivesThem(t *testing.T) {
	c := podsWith(t, fmt.Sprintf(named, "one"), fmt.Sprintf(named, "two"))
	chosen, other := paths(".spec.x"), paths(".metadata.name", ".spec.x")
	for _, f := range []wire.Subscribe{{}, {MetadataOnly: true}, {RowsFirst: true}, {Namespace: "ns"}} {
		r := newChooser(t, c)
		for round := range 2 {
			of := [][]api.Column{1: nil, 2: chosen, 3: other, 4: nil}
			for _, id := range [][]int{{1, 2, 3, 4}, {2, 3, 1, 4}}[round] {
				f.Subscription = uint32(id + 10*round)
				r.subscribe(f, of[id]...)
			}
			r.pull()
			for i, value := range []string{"three", "four", "one"} {
				if i > 0 {
					c.Apply(withJSON("ns/a", int(c.ResourceVersion())+1, fmt.Sprintf(named, value)), 1000)
					r.pull()
				} else {
					value = "one"
				}
				for _, id := range []uint32{1, 4} {
					id += 10 * uint32(round)
					assert.Contains(t, []string{"a Running  ", "patch"}, r.cells[id]["ns/a"], "%+v", f)
					assert.Len(t, r.schemas[id].Columns, 4)
				}
				assert.Equal(t, value, r.cells[2+10*uint32(round)]["ns/a"], "%+v", f)
				assert.Equal(t, "a "+value, r.cells[3+10*uint32(round)]["ns/a"], "%+v", f)
				assert.Equal(t, "two", r.cells[2+10*uint32(round)]["ns/b"], "%+v", f)
			}
		}
	}
}

func TestStoredBlocksAreNotForwardedToReadersWithColumns(t *testing.T) {
	c := podsWith(t)
	c.Listing().Begin()
	for i := range 200 {
		key := fmt.Sprintf("ns/p%03d", i)
		require.Nil(t, c.Listing().Object(withJSON(key, i+1, fmt.Sprintf(`{"metadata":{"name":"a"},"spec":{"x":%q,"y":%q}}`, key, strings.Repeat("long ", 100)))))
	}
	c.Listing().End(200, 1000)
	r := newChooser(t, c)
	r.subscribe(wire.Subscribe{Subscription: 1})
	r.pull()
	require.Positive(t, r.blocks)
	r = newChooser(t, c)
	r.Session = session.New(session.Config{Decode: new(body.Decoder).Decode}, one{c.Collection})
	require.NoError(t, r.Receive((&wire.Hello{Version: wire.Version}).Append(nil), 1000))
	r.subscribe(wire.Subscribe{Subscription: 1}, paths(".spec.x")...)
	r.pull()
	require.Zero(t, r.blocks)
	require.Len(t, r.cells[1], 200)
	for key, cells := range r.cells[1] {
		require.Equal(t, string(key), cells)
	}
	r.subscribe(wire.Subscribe{Subscription: 2})
	r.pull()
	require.Positive(t, r.blocks, "other readers receive blocks")
}

func TestChosenColumnsApplyToTheirSubscriptionOfTheSameMessage(t *testing.T) {
	r := newChooser(t, podsWith(t, fmt.Sprintf(named, "one")))
	columns := &wire.ChooseColumns{Subscription: 1, Columns: paths(".spec.x")}
	subscribe := func(id uint32) []byte {
		return (&wire.Subscribe{Subscription: id, Resource: "v1/pods", Credit: 1 << 20}).Append(nil)
	}
	require.NoError(t, r.Receive(append(columns.Append(nil), subscribe(2)...), 1000))
	require.NoError(t, r.Receive(columns.Append(nil), 1000))
	require.NoError(t, r.Receive(subscribe(1), 1000))
	columns.Subscription = 3
	require.NoError(t, r.Receive(append(columns.Append(nil), append(subscribe(4), subscribe(3)...)...), 1000))
	r.pull()
	for id := uint32(1); id <= 4; id++ {
		assert.Equal(t, id == 3, r.schemas[id].Columns[0].Name == "C0", "subscription %d", id)
	}
}

// A session without a decoder sends the columns of the collection, and names them in the
// schema.
func TestASessionWithoutADecoderIgnoresChosenColumns(t *testing.T) {
	c := podsWith(t, fmt.Sprintf(named, "one"))
	r := newChooser(t, c)
	r.Session = session.New(session.Config{}, one{c.Collection})
	require.NoError(t, r.Receive((&wire.Hello{Version: wire.Version}).Append(nil), 1000))
	r.subscribe(wire.Subscribe{Subscription: 1}, paths(".spec.x")...)
	r.pull()
	assert.Equal(t, "Name", r.schemas[1].Columns[0].Name)
}

func TestTheChosenColumnsAreLimited(t *testing.T) {
	r := newChooser(t, podsWith(t, fmt.Sprintf(named, "one")))
	long := strings.Repeat("x", 1024)
	for id, test := range []struct {
		columns []api.Column
		code    int
		cause   string
	}{
		{paths(strings.Fields(strings.Repeat(".a ", 64))...), 0, ""},
		{paths(strings.Fields(strings.Repeat(".a ", 65))...), api.CodeTooLarge, session.LimitColumns},
		{paths(long[:1022]), 0, ""},
		{paths(long[:1023]), api.CodeTooLarge, session.LimitColumnBytes},
		{[]api.Column{{Name: long, Kind: api.String, Path: "a"}}, api.CodeTooLarge, session.LimitColumnBytes},
		{[]api.Column{{Name: "A", Kind: api.String, Path: "a", Default: long}}, api.CodeTooLarge, session.LimitColumnBytes},
		{[]api.Column{{Name: "A", Kind: api.String, Path: "a", Printer: long}}, api.CodeTooLarge, session.LimitColumnBytes},
		{[]api.Column{{Name: "A", Kind: api.String, Path: "a", Printer: "podStatus"}}, api.CodeBadRequest, ""},
		{paths(".a[-1]"), api.CodeBadRequest, ""},
		{[]api.Column{{Name: "A", Path: "a"}}, api.CodeBadRequest, ""},
	} {
		id := uint32(id + 1)
		r.subscribe(wire.Subscribe{Subscription: id}, test.columns...)
		r.pull()
		if test.code == 0 {
			assert.Nil(t, r.statuses[id])
			continue
		}
		require.NotNil(t, r.statuses[id], "%v", test)
		assert.Equal(t, test.code, r.statuses[id].Code)
		assert.Equal(t, test.cause, r.statuses[id].Cause)
		assert.Less(t, len(r.statuses[id].Message), 300)
	}
	assert.Len(t, r.States(), 2)
	err := r.Receive((&wire.ChooseColumns{Columns: paths(strings.Fields(strings.Repeat(".abcdefgh ", 4000))...)}).Append(nil), 1000)
	assert.Equal(t, api.CodeTooLarge, api.AsStatus(err).Code)
}

func TestAnObjectWithoutCellsEndsTheSubscription(t *testing.T) {
	c := podsWith(t, fmt.Sprintf(named, "one"))
	r := newChooser(t, c)
	r.subscribe(wire.Subscribe{Subscription: 1}, paths(".spec.x")...)
	r.subscribe(wire.Subscribe{Subscription: 2})
	r.pull()
	c.Apply(withJSON("ns/b", 2, "not JSON"), 1000)
	r.pull()
	require.NotNil(t, r.statuses[1])
	assert.Contains(t, r.statuses[1].Message, "the columns of ns/b cannot be computed")
	assert.Equal(t, "one", r.cells[1]["ns/a"])
	assert.NotContains(t, r.cells[1], api.Key("ns/b"))
	assert.Contains(t, r.cells[2], api.Key("ns/b"), "the other reader is not affected")
}

func TestChosenColumnsSpendTheMeter(t *testing.T) {
	bodies := make([]string, 20)
	for i := range bodies {
		bodies[i] = fmt.Sprintf(named, strings.Repeat("x", 6400))
	}
	c := podsWith(t, bodies...)
	for _, columns := range []int{1, 16} {
		r := newChooser(t, c)
		r.meter = watcher.Meter{}
		r.subscribe(wire.Subscribe{Subscription: 1}, paths(strings.Fields(strings.Repeat(".spec.y ", columns))...)...)
		r.pull()
		require.Empty(t, r.cells, "no evaluations are granted")
		rounds := 0
		for ; len(r.cells[1]) < len(bodies); rounds++ {
			require.Less(t, rounds, 1000)
			before := len(r.cells[1])
			r.meter.Grant(100)
			r.pull()
			assert.LessOrEqual(t, len(r.cells[1])-before, 1)
		}
		assert.Greater(t, rounds, (len(bodies)-1)*(1+columns/8))
		assert.Greater(t, r.States()[0].Evaluations, uint64(100*rounds-200))
	}
}

func TestCellsOfASavedReaderKeepTheirColumns(t *testing.T) {
	c := podsWith(t, fmt.Sprintf(named, "one"))
	r := newChooser(t, c)
	r.subscribe(wire.Subscribe{Subscription: 1}, paths(".spec.x")...)
	r.subscribe(wire.Subscribe{Subscription: 2})
	r.pull()
	saved := r.Save()
	r.Close()
	r.Session = session.New(session.Config{Decode: new(body.Decoder).Decode}, one{c.Collection})
	require.NoError(t, r.Resume(saved, 1000))
	r.schemas = map[uint32]api.Schema{}
	c.Apply(withJSON("ns/a", 2, fmt.Sprintf(named, "two")), 1000)
	r.pull()
	assert.Equal(t, "two", r.cells[1]["ns/a"])
	assert.Len(t, r.schemas[2].Columns, 4)
}
