package reflector_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/coretest/deflate"
	"github.com/watchglass/watchglass/core/wire"
)

// block returns a block of objects with one label set.
func block(label string, list ...string) *wire.SnapshotBlock {
	b := wire.Block{LabelSets: []api.Labels{{{Key: "app", Value: label}}}, Objects: changes(api.Added, list...)}
	for i := range b.Objects {
		b.Objects[i].LabelSet = 0
	}
	return encoded(&b)
}

// encoded returns the frame that contains a block.
func encoded(b *wire.Block) *wire.SnapshotBlock {
	f := &wire.SnapshotBlock{}
	envelopes, bodies := b.Encode(f, nil, nil)
	f.Data, _ = deflate.Sections(f.Data, envelopes, bodies)
	return f
}

func TestBlocksAreListedLikeParts(t *testing.T) {
	r := newRig(t)
	r.Connected(5000)
	r.asked()
	r.described()
	require.NoError(t, r.Receive(&wire.SnapshotBegin{ResourceVersion: 5}, 0))
	require.NoError(t, r.Receive(block("db", "default/a rv=3", "default/b rv=2"), 1))
	require.NoError(t, r.Receive(&wire.SnapshotPart{Objects: changes(api.Added, "default/c rv=4")}, 1))
	require.NoError(t, r.Receive(block("dns", "kube-system/d rv=5"), 1))
	require.Zero(t, r.cacher.State().Len())
	require.NoError(t, r.Receive(&wire.SnapshotEnd{ResourceVersion: 5}, 0))
	arena := r.cacher.Arena()
	for key, want := range map[api.Key]string{"default/a": "db", "default/b": "db", "default/c": "web", "kube-system/d": "dns"} {
		ref := r.cacher.State().Get(key)
		require.NotZero(t, ref, key)
		require.Equal(t, api.Labels{{Key: "app", Value: want}}, arena.LabelsOf(ref), key)
	}
	require.Equal(t, 4, arena.Labels.Len(), "three sets and the empty set")
	require.Equal(t, 4, arena.Versions())
}

func TestLabelSetsOfABlockEndWithItsObjects(t *testing.T) {
	r := newRig(t)
	r.Connected(5000)
	r.asked()
	r.described()
	require.NoError(t, r.Receive(&wire.SnapshotBegin{ResourceVersion: 5}, 0))
	require.NoError(t, r.Receive(block("db", "default/a rv=3"), 1))
	require.NoError(t, r.Receive(&wire.SnapshotEnd{ResourceVersion: 5}, 0))
	r.cacher.Delete("default/a", 6, r.now)
	require.Equal(t, 2, r.cacher.Arena().Labels.Len(), "the history contains the object")
	r.cacher.Listing().Abort()
	r.cacher.Listing().Begin()
	r.cacher.Listing().End(7, r.now)
	require.Equal(t, 1, r.cacher.Arena().Labels.Len())
}

// After a corrupt block the subscription starts over. The state does not change, and the
// error reports that a block is corrupt (rule B27).
func TestCorruptBlockStartsOver(t *testing.T) {
	truncated := block("db", "default/x rv=8")
	truncated.Data = truncated.Data[:8]
	for name, f := range map[string]*wire.SnapshotBlock{
		"garbage":                {Objects: 1, Envelopes: 9, Data: []byte{0xff}},
		"truncated":              truncated,
		"more objects":           {Objects: 2, Envelopes: truncated.Envelopes, Members: truncated.Members, Bodies: truncated.Bodies, Data: block("db", "default/x rv=8").Data},
		"a base that is missing": blockOfDelta(t),
	} {
		t.Run(name, func(t *testing.T) {
			r := following(t)
			r.Receive(&wire.SubscriptionStatus{Status: api.Expired("too old")}, 0)
			given := r.asked().Subscription
			r.described()
			require.NoError(t, r.Receive(&wire.SnapshotBegin{ResourceVersion: 8}, 0))
			require.NoError(t, r.Receive(block("db", "default/a rv=8"), 1))
			require.NoError(t, r.Receive(f, 1))
			require.Equal(t, given, r.unsubscribed())
			_, listing := r.cacher.Listing().Len()
			require.False(t, listing)
			require.Equal(t, 2, r.cacher.State().Len(), "the state remains")
			require.Contains(t, r.State().Status.Message, "corrupt")
			require.EqualValues(t, 1, r.Missing)
			for r.asked() == nil {
				r.at(r.NextTick())
			}
			r.listed(9, "default/a rv=8")
			require.Nil(t, r.State().Status)
		})
	}
}

// blockOfDelta returns a block with one object, whose body is a delta from a missing
// base.
func blockOfDelta(t *testing.T) *wire.SnapshotBlock {
	t.Helper()
	c := delta(api.Added, "default/x rv=8", 3)
	c.LabelSet = 0
	b := wire.Block{LabelSets: []api.Labels{nil}, Objects: []wire.Change{c}}
	return encoded(&b)
}

// After the source was restored from a backup, an object may have different content at
// the same version. A relist detects the different content, although a first list does
// not decompress blocks (R11).
func TestARelistFindsOtherBodiesOfEqualVersions(t *testing.T) {
	r := newRig(t)
	list := func(text string) {
		r.asked()
		r.described()
		require.NoError(t, r.Receive(&wire.SnapshotBegin{ResourceVersion: 9}, 0))
		siblings := []string{}
		for i := range 20 {
			siblings = append(siblings, fmt.Sprintf("default/pod-%02d rv=%d body=%s", i, i+1, strings.Repeat(text, 40)))
		}
		require.NoError(t, r.Receive(block("db", siblings...), 1))
		require.NoError(t, r.Receive(&wire.SnapshotEnd{ResourceVersion: 30}, 0))
		require.Equal(t, 1, r.cacher.Arena().Blocks())
	}
	r.Connected(5000)
	list("first")
	before := r.cacher.State().Get("default/pod-05")
	r.Receive(&wire.SubscriptionStatus{Status: api.Expired("list again")}, 0)
	list("other")
	after := r.cacher.State().Get("default/pod-05")
	require.NotEqual(t, before, after)
	require.Contains(t, string(r.cacher.Arena().Body(after).Data), "otherother")
	r.Receive(&wire.SubscriptionStatus{Status: api.Expired("list again")}, 0)
	list("other")
	require.Equal(t, after, r.cacher.State().Get("default/pod-05"))
}

func TestBlockOutsideOfASnapshotIsRefused(t *testing.T) {
	r := following(t)
	require.ErrorIs(t, r.Receive(block("db", "default/x rv=8"), 1), api.Protocol(""))
}

func TestBlocksUseCredit(t *testing.T) {
	r := newRig(t)
	r.Connected(5000)
	r.asked()
	r.described()
	require.NoError(t, r.Receive(&wire.SnapshotBegin{ResourceVersion: 5}, 0))
	require.NoError(t, r.Receive(block("db", "default/a rv=3"), 1<<19))
	_, payload, _, err := wire.Next(r.Outgoing())
	require.NoError(t, err)
	var f wire.Credit
	require.NoError(t, f.Parse(payload))
	require.EqualValues(t, 1<<19, f.Bytes)
}

// Bodies stay in their block, and deltas stay together with their bases (rule B33). A
// relist with the same versions keeps the bodies in the block.
func TestBodiesOfABlockStayInIt(t *testing.T) {
	text := strings.Repeat("all-siblings-have-this-", 20)
	list := func(r *rig, rv api.ResourceVersion) {
		b := wire.Block{LabelSets: []api.Labels{nil}}
		for i := range 20 {
			c := changes(api.Added, fmt.Sprintf("default/pod-%02d rv=%d body=%s%d", i, 10+i, text, i))[0]
			if i%4 == 1 {
				c.Base = wire.Base{ResourceVersion: 3, Body: c.Envelope.Body()}
				c.Envelope = c.Envelope.AppendWithBody(nil, api.Body{Codec: api.Delta, Data: []byte{byte(i)}})
			}
			c.LabelSet = 0
			b.Objects = append(b.Objects, c)
		}
		f := encoded(&b)
		require.NoError(t, r.Receive(&wire.SnapshotBegin{ResourceVersion: rv}, 0))
		require.NoError(t, r.Receive(f, 1))
		clear(f.Data) // the message's memory is reused
		require.NoError(t, r.Receive(&wire.SnapshotEnd{ResourceVersion: rv}, 0))
	}
	r := newRig(t)
	r.Connected(5000)
	r.asked()
	r.described()
	list(r, 50)
	arena := r.cacher.Arena()
	check := func() {
		require.Equal(t, 1, arena.Blocks())
		for i := range 20 {
			ref := r.cacher.State().Get(api.Key(fmt.Sprintf("default/pod-%02d", i)))
			require.NotZero(t, arena.Block(ref))
			body := arena.Body(ref)
			if i%4 == 1 {
				require.Equal(t, api.Body{Codec: api.Delta, Data: []byte{byte(i)}}, body)
				require.NotZero(t, arena.Block(arena.Base(ref)))
				body = arena.BaseBody(ref, new([]byte))
			}
			require.Contains(t, string(body.Data), fmt.Sprintf("%s%d", text, i))
		}
	}
	check()
	state := r.cacher.State().Get("default/pod-05")
	r.Receive(&wire.SubscriptionStatus{Status: api.Expired("list again")}, 0)
	r.asked()
	r.described()
	list(r, 60)
	check()
	require.Equal(t, state, r.cacher.State().Get("default/pod-05"), "the version is the same")
	require.Equal(t, 25, arena.Versions())
}
