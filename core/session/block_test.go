package session_test

import (
	"fmt"
	"math/rand"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/cacher"
	"github.com/watchglass/watchglass/core/coretest/deflate"
	"github.com/watchglass/watchglass/core/coretest/objects"
	"github.com/watchglass/watchglass/core/history"
	"github.com/watchglass/watchglass/core/session"
	"github.com/watchglass/watchglass/core/wire"
)

// expanded returns the objects of a SnapshotBlock.
func expanded(t *testing.T, payload []byte) *wire.Block {
	t.Helper()
	var f wire.SnapshotBlock
	require.NoError(t, f.Parse(payload))
	var b wire.Block
	require.Nil(t, f.Expand(&b, true))
	return &b
}

// inflated returns the length of a SnapshotBlock after decompression.
func inflated(t *testing.T, payload []byte) int {
	t.Helper()
	var f wire.SnapshotBlock
	require.NoError(t, f.Parse(payload))
	return int(f.Envelopes + f.Bodies)
}

// blockWorld is a collection of many pods in three namespaces. It counts the blocks
// that are encoded.
type blockWorld struct {
	*session.Served
	t       *testing.T
	rv      api.ResourceVersion
	encoded int
}

const podsOfNamespace = 400

// messageBytes limits the size of each message that read requests. About 40 decompressed pods
// have this size.
const messageBytes = 4 << 10

func newBlockWorld(t *testing.T) *blockWorld {
	w := &blockWorld{t: t}
	w.Served = session.Serve(cacher.New(cacher.Config{Schema: objects.Pods(), History: history.Limits{MinCapacity: 100, MaxCapacity: 100}, DeltaEpoch: 1}))
	w.Listing().Begin()
	for _, namespace := range []string{"team-a", "team-b", "team-c"} {
		for i := range podsOfNamespace {
			require.Nil(t, w.Listing().Object(w.pod(fmt.Sprintf("%s/pod-%04d", namespace, i), "first")))
		}
	}
	w.Listing().End(w.rv, 1000)
	return w
}

func (w *blockWorld) pod(key, body string) *cacher.Update {
	w.rv++
	return objects.Update(fmt.Sprintf("%s rv=%d uid=%s app=app-%d nodeName=n%d body=%s", key, w.rv, key, w.rv%3, w.rv%5, body))
}

func (w *blockWorld) apply(p *cacher.Update) {
	require.Nil(w.t, w.Apply(p, 1000))
	w.Progress(w.rv, 1000)
}

// snapshot contains the data that a reader received up to SnapshotEnd.
type snapshot struct {
	objects       []string
	blocks, parts int
	data          []string // payloads of the blocks
	longest       int      // bytes of the longest message after decompression
}

// read returns the snapshot of a subscription, with or without blocks.
func (w *blockWorld) read(f wire.Subscribe, blocks bool) (s snapshot) {
	config := session.Config{}
	if blocks {
		config.Deflate = func(dst, envelopes, bodies []byte) ([]byte, int) {
			w.encoded++
			return deflate.Sections(dst, envelopes, bodies)
		}
	}
	reader := session.New(config, one{w.Collection})
	defer reader.Close()
	f.Subscription, f.Resource, f.Credit = 1, "v1/pods", 1<<40
	require.NoError(w.t, reader.Receive(f.Append((&wire.Hello{Version: wire.Version}).Append(nil)), 1000))
	labels := map[uint32]api.Labels{}
	for {
		message := reader.Next(messageBytes, 1000)
		require.NotNil(w.t, message)
		size := len(message)
		for len(message) > 0 {
			typ, payload, rest, err := wire.Next(message)
			require.NoError(w.t, err)
			message = rest
			switch typ {
			case wire.TypeLabelSet:
				var f wire.LabelSet
				require.NoError(w.t, f.Parse(payload))
				labels[f.ID] = f.Labels
			case wire.TypeSnapshotPart:
				var f wire.SnapshotPart
				require.NoError(w.t, f.Parse(payload))
				s.parts += len(f.Objects)
				for i := range f.Objects {
					s.add(&f.Objects[i], labels[f.Objects[i].LabelSet])
				}
			case wire.TypeSnapshotBlock:
				s.blocks++
				s.data = append(s.data, string(payload))
				b := expanded(w.t, payload)
				size += inflated(w.t, payload) - len(payload)
				for i := range b.Objects {
					require.Equal(w.t, b.Objects[0].Key.Namespace(), b.Objects[i].Key.Namespace())
					s.add(&b.Objects[i], b.LabelSets[b.Objects[i].LabelSet])
				}
			case wire.TypeSnapshotEnd:
				return s
			}
		}
		s.longest = max(s.longest, size)
	}
}

func (s *snapshot) add(c *wire.Change, labels api.Labels) {
	s.objects = append(s.objects, fmt.Sprintf("%s %d %d %v %d %x %v", c.Key, c.ResourceVersion, c.Flags, labels, c.Base.ResourceVersion, c.Envelope, c.Base.Body))
}

// A message is limited by its size after decompression, because a reader's memory and the
// time of a call depend on that size.
func TestMessageIsLimitedAfterDecompression(t *testing.T) {
	w := newBlockWorld(t)
	s := w.read(wire.Subscribe{}, true)
	largest := 0
	for _, payload := range s.data {
		largest = max(largest, inflated(t, []byte(payload)))
	}
	require.Greater(t, len(s.data), 3)
	require.Less(t, s.longest, messageBytes+largest)
}

// Each block contains objects of one namespace. A snapshot in blocks contains the same
// objects as a snapshot in parts (rule B27).
func TestBlocksContainTheObjectsOfParts(t *testing.T) {
	w := newBlockWorld(t)
	w.Bodies().SetDictionary([]byte(`{"kind":"Pod"`)) // later bodies in the middle of blocks have another dictionary
	for i := 0; i < podsOfNamespace; i += 7 {
		w.apply(w.pod(fmt.Sprintf("team-a/pod-%04d", i), "second"))
		o := objects.Object(fmt.Sprintf("team-a/pod-%04d rv=%d body=third", i, w.rv+1))
		w.rv++
		o.Body.Codec = api.Delta
		p := objects.UpdateOf(o)
		p.Base.ResourceVersion = w.Arena().ResourceVersion(w.Bodies().BaseFor(w.State().Get(o.Key)))
		w.apply(p)
	}
	for _, f := range []wire.Subscribe{{}, {Namespace: "team-a"}, {Namespace: "team-b"}, {MetadataOnly: true}, {Namespace: "team-a", MetadataOnly: true}} {
		blocks, parts := w.read(f, true), w.read(f, false)
		require.Equal(t, parts.objects, blocks.objects)
		require.Positive(t, blocks.blocks)
		require.Zero(t, parts.blocks)
		require.Zero(t, blocks.parts)
	}
}

// A reader with selectors receives no blocks, because a block could contain objects that
// the selectors exclude (rules B25, B27).
func TestReadersWithSelectorsReceiveNoBlocks(t *testing.T) {
	w := newBlockWorld(t)
	for _, f := range []wire.Subscribe{
		{LabelSelector: "app=app-1"}, {Namespace: "team-a", LabelSelector: "app"}, {FieldSelector: "spec.nodeName=n1"},
		{FieldSelector: "metadata.name=pod-0001"}, {Namespace: "team-a", FieldSelector: "metadata.name!=pod-0001"},
	} {
		s := w.read(f, true)
		require.Zero(t, s.blocks, f)
		require.NotEmpty(t, s.objects, f)
	}
	require.Zero(t, w.encoded)
}

func TestBlocksAreEncodedOnceForAllReaders(t *testing.T) {
	w := newBlockWorld(t)
	whole := w.read(wire.Subscribe{}, true)
	encoded := w.encoded
	require.Equal(t, whole.blocks, encoded)
	require.Greater(t, encoded, 3)
	require.Equal(t, encoded, w.FoundBlocks(), "further readers need not look for them")
	again := w.read(wire.Subscribe{}, true)
	require.Equal(t, whole, again)
	of := 0
	for _, namespace := range []string{"team-a", "team-b", "team-c"} {
		of += w.read(wire.Subscribe{Namespace: namespace}, true).blocks
	}
	require.Equal(t, whole.blocks, of)
	w.read(wire.Subscribe{MetadataOnly: true}, true)
	require.Equal(t, encoded, w.encoded)
}

func TestChangeRenewsOnlyItsBlock(t *testing.T) {
	w := newBlockWorld(t)
	w.read(wire.Subscribe{}, true)
	for _, change := range []func(){
		func() { w.apply(w.pod("team-b/pod-0200", "second")) },
		func() { w.apply(w.pod("team-b/pod-0200-new", "first")) },
		func() { w.rv++; w.Delete("team-b/pod-0200-new", w.rv, 1000); w.Progress(w.rv, 1000) },
	} {
		before := w.encoded
		change()
		require.Zero(t, w.FoundBlocks())
		blocks, parts := w.read(wire.Subscribe{}, true), w.read(wire.Subscribe{}, false)
		require.Equal(t, parts.objects, blocks.objects)
		require.Positive(t, w.encoded-before)
		require.LessOrEqual(t, w.encoded-before, 4, "the block and its successors up to a key that starts a block")
	}
}

// A list invalidates all cached blocks, because other versions may then have the same Refs
// and resource versions as those in the blocks.
func TestListRenewsAllBlocks(t *testing.T) {
	w := &blockWorld{t: t}
	w.Served = session.Serve(cacher.New(cacher.Config{Schema: objects.Pods(), History: history.Limits{MinCapacity: 1, MaxCapacity: 1}, DeltaEpoch: 1}))
	list := func(body string, descending bool) {
		w.Listing().Begin()
		for n := range podsOfNamespace {
			i := n
			if descending { // the arena reuses Refs in this order
				i = podsOfNamespace - 1 - n
			}
			w.rv = api.ResourceVersion(i)
			require.Nil(t, w.Listing().Object(w.pod(fmt.Sprintf("team-a/pod-%04d", i), body)))
		}
		w.Listing().End(podsOfNamespace, 1000)
	}
	list("first", false)
	w.read(wire.Subscribe{}, true)
	list("second", false)
	list("third", true)
	blocks, parts := w.read(wire.Subscribe{}, true), w.read(wire.Subscribe{}, false)
	require.Equal(t, parts.objects, blocks.objects)
}

func TestLargeObjectIsSentOutsideOfBlocks(t *testing.T) {
	w := newBlockWorld(t)
	w.apply(w.pod("team-b/pod-0200", strings.Repeat("x", 2<<20)))
	w.apply(w.pod("team-b/pod-0300", strings.Repeat("x", 200<<10)))
	w.apply(w.pod("team-b/pod-0301", strings.Repeat("x", 200<<10)))
	p := w.pod("team-c/pod-0000", "labels")
	for i := range 50_000 {
		p.Labels = append(p.Labels, api.Label{Key: fmt.Sprintf("z%05d", i), Value: strings.Repeat("v", 20)})
	}
	w.apply(p)
	blocks, parts := w.read(wire.Subscribe{}, true), w.read(wire.Subscribe{}, false)
	require.Equal(t, parts.objects, blocks.objects)
	require.Equal(t, 2, blocks.parts)
}

func TestObsoleteBlocksAreDropped(t *testing.T) {
	w := newBlockWorld(t)
	noise := make([]byte, 20_000)
	rand.New(rand.NewSource(1)).Read(noise)
	for i := range 100 { // each name sorts before all others of its namespace
		w.apply(w.pod(fmt.Sprintf("team-b/a-%04d", 1000-i), fmt.Sprintf("%x", noise)))
		w.read(wire.Subscribe{Namespace: "team-b"}, true)
		w.rv++
		w.Delete(api.Key(fmt.Sprintf("team-b/a-%04d", 1000-i)), w.rv, 1000)
	}
	require.LessOrEqual(t, w.BlockBytes(), 3*(podsOfNamespace+1)*512+64<<10)
	require.Positive(t, w.BlockBytes())
}

// Bodies of unchanged versions are stored in the blocks that readers have received. The
// body of a changed object is stored outside the block, as is its base, which the next
// delta needs (rule B33).
func TestCompleteBodiesAreStoredInTheirBlocks(t *testing.T) {
	w := newBlockWorld(t)
	text := strings.Repeat("all-siblings-have-this-", 20)
	for i := range 2 * podsOfNamespace {
		w.apply(w.pod(fmt.Sprintf("team-d/pod-%04d", i), text))
	}
	before, used := w.read(wire.Subscribe{Namespace: "team-d"}, false), w.Arena().UsedBytes()
	require.Zero(t, w.Arena().Blocks())
	w.read(wire.Subscribe{Namespace: "team-d"}, true)
	require.Positive(t, w.Arena().Blocks())
	require.Less(t, w.Arena().UsedBytes(), used-podsOfNamespace*len(text))
	require.Equal(t, before.objects, w.read(wire.Subscribe{Namespace: "team-d"}, false).objects)

	o := objects.Object(fmt.Sprintf("team-d/pod-0003 rv=%d body=third", w.rv+1))
	w.rv++
	o.Body.Codec = api.Delta
	p := objects.UpdateOf(o)
	base := w.Bodies().BaseFor(w.State().Get(o.Key))
	require.NotZero(t, w.Arena().Block(base))
	w.Arena().TakeOut(base) // as a connector does before it encodes the delta
	p.Base.ResourceVersion = w.Arena().ResourceVersion(base)
	w.apply(p)
	blocks := w.read(wire.Subscribe{Namespace: "team-d"}, true)
	require.Equal(t, w.read(wire.Subscribe{Namespace: "team-d"}, false).objects, blocks.objects)
	require.Zero(t, w.Arena().Block(base))
	require.Zero(t, w.Arena().Block(w.State().Get(o.Key)))
	require.NotZero(t, w.Arena().Block(w.State().Get("team-d/pod-0004")))
}

// A session without an encoder forwards the blocks that its collection stores (rule B34).
// Objects of changed blocks are sent in parts. Readers with selectors or without bodies
// receive no blocks.
func TestStoredBlocksAreForwarded(t *testing.T) {
	w := newBlockWorld(t)
	text := strings.Repeat("all-siblings-have-this-", 20)
	for _, namespace := range []string{"team-d", "team-e"} {
		for i := range podsOfNamespace {
			w.apply(w.pod(fmt.Sprintf("%s/pod-%04d", namespace, i), text))
		}
	}
	parts := w.read(wire.Subscribe{}, false)
	require.Zero(t, parts.blocks)
	sent := w.read(wire.Subscribe{}, true)
	encoded := w.encoded
	forwarded := w.read(wire.Subscribe{}, false)
	require.Equal(t, encoded, w.encoded)
	require.Equal(t, parts.objects, forwarded.objects)
	require.Subset(t, sent.data, forwarded.data)
	require.Equal(t, 3*podsOfNamespace, forwarded.parts, "short bodies are not in blocks")
	require.Equal(t, w.read(wire.Subscribe{Namespace: "team-e"}, false).objects, w.read(wire.Subscribe{Namespace: "team-e"}, true).objects)
	for _, f := range []wire.Subscribe{{LabelSelector: "app=app-1"}, {LabelSelector: "app"}, {FieldSelector: "spec.nodeName=n1"}, {MetadataOnly: true}} {
		require.Zero(t, w.read(f, false).blocks, f)
	}

	w.apply(w.pod("team-d/pod-0005", text))
	w.rv++
	w.Delete("team-d/pod-0200", w.rv, 1000)
	w.apply(w.pod("team-e/pod-0100-new", text)) // between members of a block
	now := w.read(wire.Subscribe{}, false)
	require.Less(t, now.blocks, forwarded.blocks)
	require.Positive(t, now.blocks)
	require.Equal(t, w.read(wire.Subscribe{}, true).objects, now.objects)
}

// Readers that continue a snapshot at many different keys cannot make the cache of found
// blocks larger than the collection.
func TestB38_ContinuedSnapshotsShareTheBlocksThatWereFound(t *testing.T) {
	w := newBlockWorld(t)
	w.read(wire.Subscribe{MetadataOnly: true}, true)
	require.Positive(t, w.FoundBlocks())
	for i := range w.State().Len() + 10 {
		from := api.Key(fmt.Sprintf("team-c/pod-0398-%d", i))
		w.read(wire.Subscribe{MetadataOnly: true, ResourceVersion: w.rv, SnapshotFrom: from}, true)
	}
	require.LessOrEqual(t, w.FoundBlocks(), w.State().Len())
}
