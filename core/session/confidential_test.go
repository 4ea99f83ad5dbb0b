package session_test

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/cacher"
	"github.com/watchglass/watchglass/core/coretest/deflate"
	"github.com/watchglass/watchglass/core/coretest/objects"
	"github.com/watchglass/watchglass/core/coretest/sentinel"
	"github.com/watchglass/watchglass/core/history"
	"github.com/watchglass/watchglass/core/selector"
	"github.com/watchglass/watchglass/core/session"
	"github.com/watchglass/watchglass/core/wire"
)

// secretive is a collection whose objects contain unique texts, called sentinels, in
// their name, UID, labels, fields and body.
type secretive struct {
	*session.Served
	t       *testing.T
	rand    *rand.Rand
	planted sentinel.Set
	rv      api.ResourceVersion
	there   map[api.Key]bool
}

func newSecretive(t *testing.T, seed int64) *secretive {
	c := &secretive{t: t, rand: rand.New(rand.NewSource(seed)), there: map[api.Key]bool{}}
	c.Served = session.Serve(cacher.New(cacher.Config{
		Schema: objects.Pods(), History: history.Limits{MinCapacity: 30, MaxCapacity: 30}, DeltaEpoch: uint64(seed) + 1,
	}))
	c.Bodies().SetDictionary([]byte(`{"kind":"Pod","metadata":{"name":""`))
	c.relist(12)
	return c
}

// key returns a random key, composed of one of a few namespaces and one of a few names.
// Each name contains a sentinel, which is the same in all namespaces.
func (c *secretive) key() api.Key {
	namespace, name := []string{"team-a", "team-b", "team-c"}[c.rand.Intn(3)], fmt.Sprint("n", c.rand.Intn(8))
	return api.Key(namespace + "/" + name + "-" + c.planted.Plant("name of "+name))
}

func (c *secretive) put(key api.Key) *cacher.Update {
	c.rv++
	own := c.planted.Plant(string(key))
	text := fmt.Sprintf("%s rv=%d uid=%s-%d app=%s nodeName=%s body=%s", key, c.rv, own, c.rv, own, own, bodyWith(key, fmt.Sprint(own, "-", c.rv)))
	if c.rand.Intn(2) == 0 {
		text = strings.Replace(text, " app="+own, " app=web", 1)
	}
	put := objects.Update(text)
	if base := c.Bodies().BaseFor(c.State().Get(key)); base != 0 && c.rand.Intn(3) > 0 {
		o := objects.Object(text)
		o.Body.Codec = api.Delta
		put = objects.UpdateOf(o)
		put.Base.ResourceVersion = c.Arena().ResourceVersion(base)
	}
	c.there[key] = true
	return put
}

func (c *secretive) change() {
	key := c.key()
	switch c.rand.Intn(8) {
	case 0:
		c.rv++
		c.Delete(key, c.rv, 1000)
		delete(c.there, key)
	case 1:
		c.rv++
		c.Fault(key, c.rv, api.Invalid("what it has is "+c.planted.Plant(string(key))), 1000)
	default:
		require.Nil(c.t, c.Apply(c.put(key), 1000))
	}
	c.Progress(c.rv, 1000)
}

func (c *secretive) relist(n int) {
	c.Listing().Begin()
	clear(c.there)
	for range n {
		key := c.key()
		own := c.planted.Plant(string(key))
		c.rv++
		c.Listing().Object(objects.Update(fmt.Sprintf("%s rv=%d uid=%s app=%s nodeName=%s body=%s", key, c.rv, own, own, own, bodyWith(key, own))))
		c.there[key] = true
	}
	c.Listing().End(c.rv, 1000)
}

// bodyWith returns the JSON of an object that contains a text.
func bodyWith(key api.Key, text string) string {
	return fmt.Sprintf(`{"metadata":{"name":%q},"own":%q}`, key.Name(), text)
}

// plain implements Config.Decode for a secretive collection, whose bodies are all plain
// JSON, even deltas.
func plain(body, _ api.Body, _ []byte) ([]byte, error) { return body.Data, nil }

// narrow is a reader of part of the collection.
type narrow struct {
	of        *secretive
	subscribe wire.Subscribe
	columns   []api.Column
	scope     api.Scope
	forwards  bool // its session cannot encode blocks, and forwards stored ones
	session   *session.Session
	defined   uint32 // number of label sets that were defined
	had       int    // number of received sentinels within its scope
	blocks    int
	bodies    int // received after the rows
}

func (r *narrow) open(resume bool) {
	if r.session != nil {
		r.session.Close()
	}
	config := session.Config{LabelSets: 4, Deflate: deflate.Sections, Decode: plain}
	if r.forwards {
		config.Deflate = nil
	}
	r.session, r.defined = session.New(config, one{r.of.Collection}), 0
	f := r.subscribe
	f.Subscription, f.Resource, f.Credit = 1, "v1/pods", 1<<40
	if resume {
		f.ResourceVersion = r.of.rv
	}
	if resume && f.RowsFirst {
		f.BodiesFrom = r.of.key()
	}
	message := (&wire.Hello{Version: wire.Version}).Append(nil)
	if len(r.columns) > 0 {
		message = (&wire.ChooseColumns{Subscription: 1, Columns: r.columns}).Append(message)
	}
	require.NoError(r.of.t, r.session.Receive(f.Append(message), 1000))
}

// requestBody requests the body of a random object, which may be outside the scope.
func (r *narrow) requestBody() {
	f := wire.RequestBody{Subscription: 1, Key: r.of.key()}
	require.NoError(r.of.t, r.session.Receive(f.Append(nil), 1000))
}

// rowBodies returns the bodies of a SnapshotBodies frame.
func rowBodies(t *testing.T, f *wire.SnapshotBodies) []wire.RowBody {
	versions := make([]api.ResourceVersion, f.Objects)
	for i := range versions {
		versions[i] = math.MaxInt64 // greater than the version of any base
	}
	var b wire.Block
	bodies, status := f.Expand(&b, versions)
	require.Nil(t, status)
	return bodies
}

// raw returns the payload of a SnapshotBlock, followed by all of its decompressed data. A
// hostile reader can inspect this data, not only the objects.
func raw(t *testing.T, payload []byte) []byte {
	var f wire.SnapshotBlock
	require.NoError(t, f.Parse(payload))
	data, err := io.ReadAll(flate.NewReader(bytes.NewReader(f.Data[f.Members:])))
	if err != nil {
		require.ErrorIs(t, err, io.ErrUnexpectedEOF) // the stream has no final deflate block
	}
	require.Len(t, data, int(f.Envelopes+f.Bodies), "the data has only the sections")
	return slices.Concat(payload, []byte{0}, data)
}

// resume persists the session, and restores it in another one.
func (r *narrow) resume() {
	saved := r.session.Save()
	r.session.Close()
	r.session, r.defined = session.New(session.Config{Deflate: deflate.Sections, Decode: plain}, one{r.of.Collection}), 0
	require.NoError(r.of.t, r.session.Resume(saved, 1000))
}

func (r *narrow) pull() {
	message := r.session.Next(1+r.of.rand.Intn(600), 1000)
	for len(message) > 0 {
		typ, payload, rest, err := wire.Next(message)
		require.NoError(r.of.t, err)
		r.check(typ, payload)
		message = rest
	}
}

func (r *narrow) check(typ wire.Type, payload []byte) {
	t := r.of.t
	if typ == wire.TypeSnapshotBlock {
		r.blocks++
		b := expanded(t, payload)
		require.LessOrEqual(t, len(b.LabelSets), len(b.Objects))
		payload = raw(t, payload)
	}
	if typ == wire.TypeSnapshotBodies {
		var f wire.SnapshotBodies
		require.NoError(t, f.Parse(payload))
		r.bodies += int(f.Objects)
		payload = []byte(f.First)
		for _, row := range rowBodies(t, &f) {
			payload = slices.Concat(payload, row.Body.Data, []byte{0}, row.Base.Body.Data)
		}
	}
	mayRead := func(name string) bool {
		if name, ok := strings.CutPrefix(name, "name of "); ok {
			return r.scope.Name == "" || strings.HasPrefix(r.scope.Name, name+"-")
		}
		return r.scope.Has(api.Key(name))
	}
	r.had += len(r.of.planted.Find(payload))
	require.Empty(t, r.of.planted.Outside(payload, mayRead), "frame of type %#x to a reader of %+v: %q", byte(typ), r.scope, payload)
	switch typ {
	case wire.TypeDictionary, wire.TypeWelcome, wire.TypeSchema:
		require.Empty(t, r.of.planted.Find(payload))
	case wire.TypeLabelSet:
		_, n := binary.Uvarint(payload)
		id, _ := binary.Uvarint(payload[n:])
		if r.scope.Whole() {
			break
		}
		require.LessOrEqual(t, id, uint64(r.defined), "the number of a label set discloses how many others exist")
		r.defined++
	case wire.TypeSnapshotBegin:
		var f wire.SnapshotBegin
		require.NoError(t, f.Parse(payload))
		n := 0
		for key := range r.of.there {
			if r.scope.Has(key) {
				n++
			}
		}
		require.EqualValues(t, n, f.Total)
	case wire.TypeSubscriptionStatus:
		r.open(false)
	}
}

// For any changes and disconnects, no frame contains a byte of an object outside the
// scope of its subscription (rule B25).
func TestFramesContainNoDataOutsideTheScope(t *testing.T) {
	had, blocks, bodies, cells := 0, 0, 0, 0
	for seed := range int64(40) {
		c := newSecretive(t, seed)
		name := "n1-" + c.planted.Plant("name of n1")
		var readers []*narrow
		for _, f := range []wire.Subscribe{
			{Namespace: "team-a"},
			{Namespace: "team-a", LabelSelector: "app=web"},
			{Namespace: "team-b", MetadataOnly: true},
			{Namespace: "team-b", FieldSelector: "spec.nodeName!=none"},
			{Namespace: "team-c", FieldSelector: "metadata.name=" + name},
			{FieldSelector: "metadata.name=" + name},
			{},
			{Namespace: "team-a", RowsFirst: true},
			{Namespace: "team-b", LabelSelector: "app=web", RowsFirst: true},
		} {
			fields, err := selector.ParseFields(f.FieldSelector)
			require.NoError(t, err)
			r := &narrow{of: c, subscribe: f, scope: selector.ScopeOf(f.Namespace, fields)}
			r.open(false)
			readers = append(readers, r)
			computed := &narrow{of: c, subscribe: f, scope: r.scope, columns: []api.Column{{Name: "Own", Kind: api.String, Path: ".own"}}}
			computed.open(false)
			readers = append(readers, computed)
		}
		for range 800 {
			r := readers[c.rand.Intn(len(readers))]
			switch n := c.rand.Intn(100); {
			case n < 40:
				c.change()
			case n < 41:
				c.relist(c.rand.Intn(12))
			case n < 43:
				r.open(c.rand.Intn(2) == 0)
			case n < 46:
				r.resume()
			case n < 50:
				r.requestBody()
			default:
				r.pull()
			}
		}
		for _, r := range readers {
			had += r.had
			blocks += r.blocks
			bodies += r.bodies
			if r.columns != nil && r.subscribe.MetadataOnly {
				cells += r.had
			}
		}
	}
	require.Positive(t, blocks)
	require.Positive(t, bodies)
	require.Positive(t, cells)
	require.Positive(t, had, "readers may receive some sentinels")
}

// Readers of all namespaces and readers of one namespace share blocks. These blocks
// contain no data outside the scope of either reader. Each namespace in this test has
// several blocks.
func TestSharedBlocksContainNoDataOutsideTheScope(t *testing.T) {
	c := newSecretive(t, 1)
	c.Listing().Begin()
	clear(c.there)
	for _, namespace := range []string{"team-a", "team-b", "team-c"} {
		for i := range 500 {
			key := api.Key(fmt.Sprintf("%s/n%03d", namespace, i))
			require.Nil(t, c.Listing().Object(c.put(key)))
		}
	}
	c.Listing().End(c.rv, 1000)
	for _, f := range []wire.Subscribe{
		{}, {Namespace: "team-a"}, {Namespace: "team-b"}, {}, {Namespace: "team-c"},
		{RowsFirst: true}, {Namespace: "team-a", RowsFirst: true}, {Namespace: "team-b", MetadataOnly: true},
	} {
		r := &narrow{of: c, subscribe: f, scope: selector.ScopeOf(f.Namespace, selector.Fields{})}
		r.open(false)
		for before := -1; before < r.had; {
			before = r.had
			for range 10 {
				r.pull()
			}
		}
		require.Greater(t, r.blocks, 3, "%+v", f)
	}
}

// An engine at the edge forwards the blocks that it has received without inspecting them.
// A block must therefore reach only readers who may read its whole namespace and have no
// selectors. This holds regardless of later changes to the collection (rules B25, B27,
// B34).
func TestForwardedBlocksContainNoDataOutsideTheScope(t *testing.T) {
	forwarded := map[string]int{}
	for seed := range int64(2) {
		c := newSecretive(t, seed)
		var keys []api.Key
		for _, namespace := range []string{"team-a", "team-b", "team-c"} {
			for i := range 300 {
				keys = append(keys, api.Key(fmt.Sprintf("%s/n%03d", namespace, i)))
			}
		}
		put := func(key api.Key) {
			c.rv++
			own := c.planted.Plant(string(key))
			text := fmt.Sprintf("%s rv=%d uid=%s app=%s nodeName=%s body=%s", key, c.rv, own, own, own, bodyWith(key, own+strings.Repeat("-all-siblings-have-this", 20)))
			require.Nil(t, c.Apply(objects.Update(text), 1000))
			c.there[key] = true
			c.Progress(c.rv, 1000)
		}
		for _, key := range keys {
			put(key)
		}
		for _, f := range []wire.Subscribe{
			{}, {Namespace: "team-a"}, {Namespace: "team-b"}, {Namespace: "team-c"}, {Namespace: "team-c", RowsFirst: true},
			{Namespace: "team-b", MetadataOnly: true}, {Namespace: "team-b", LabelSelector: "app=" + c.planted.Plant("team-b/n007")},
			{FieldSelector: "metadata.name=n007"}, {Namespace: "team-a", FieldSelector: "metadata.name=n007"},
		} {
			all := &narrow{of: c} // the collection stores the blocks that this reader receives
			all.open(false)
			for range 100 {
				all.pull()
			}
			require.Positive(t, c.Arena().Blocks())
			fields, err := selector.ParseFields(f.FieldSelector)
			require.NoError(t, err)
			r := &narrow{of: c, subscribe: f, scope: selector.ScopeOf(f.Namespace, fields), forwards: true}
			r.open(false)
			for range 300 {
				r.pull()
				switch key := keys[c.rand.Intn(len(keys))]; c.rand.Intn(100) {
				case 0:
					put(key)
				case 1:
					c.rv++
					c.Delete(key, c.rv, 1000)
					delete(c.there, key)
					c.Progress(c.rv, 1000)
				case 2:
					c.change()
				}
			}
			require.Positive(t, r.had, "%+v", f)
			if f.MetadataOnly || f.LabelSelector != "" || f.FieldSelector != "" {
				require.Zero(t, r.blocks, "%+v", f)
			}
			forwarded[f.Namespace] += r.blocks
		}
	}
	for _, namespace := range []string{"", "team-a", "team-b", "team-c"} {
		require.Positive(t, forwarded[namespace], namespace)
	}
}
