package wire

import (
	"math"
	"slices"
	"strings"

	"github.com/watchglass/watchglass/core/api"
)

// sample is one frame with a golden file.
type sample struct {
	name  string // distinguishes samples of one frame; may be empty
	frame frame
}

const maxRV = api.ResourceVersion(math.MaxUint64)

var (
	gone = &api.Status{Code: 410, Reason: api.ReasonExpired, Message: "too old resource version: 3 (7)", Cause: "ResourceVersionTooOld", RetryAfterSeconds: 1}
	bad  = &api.Status{Code: 400, Reason: api.ReasonBadRequest, Message: `unknown column "agé"`}

	podSchema = api.Schema{
		Resource:   api.Resource{Version: "v1", Name: "pods"},
		Kind:       "Pod",
		Namespaced: true,
		Fields:     []string{"metadata.name", "metadata.namespace", "spec.nodeName"},
		Columns: []api.Column{
			{Name: "Name", Kind: api.String, Path: ".metadata.name"},
			{Name: "Age", Kind: api.Date, Path: ".metadata.creationTimestamp"},
			{Name: "IP", Kind: api.String, Path: ".status.podIP", Priority: 1, Default: "<none>"},
			{Name: "Ready", Kind: api.String, Path: ".a .b", Printer: "ratio"},
		},
	}
	bareSchema = api.Schema{Resource: api.Resource{Group: "example.io", Version: "v1alpha1", Name: "things"}, Kind: "Thing", Fields: []string{}, Columns: []api.Column{}}

	webLabels = api.Labels{{Key: "app", Value: "web"}, {Key: "tier", Value: ""}}
)

// sampleBlock contains two objects of one namespace. The body of the second is a delta.
var sampleBlock = Block{
	LabelSets: []api.Labels{webLabels, {}},
	Objects: []Change{
		{ResourceVersion: 41, LabelSet: 1, Flags: api.Immutable, Envelope: envelope(api.Object{Key: "default/a", Body: api.Body{Codec: api.Packed, Data: []byte{0, 1, 2}}})},
		{ResourceVersion: 40, Envelope: pod(api.Body{Codec: api.Delta, Data: []byte{4}}), Base: Base{ResourceVersion: 1, Body: api.Body{Codec: api.Packed, Data: []byte{3}}}},
	},
}

// sampleFrame contains the section sizes and the members of sampleBlock. blockEnvelopes
// and blockBodies are the two sections.
var (
	sampleFrame                 SnapshotBlock
	blockEnvelopes, blockBodies = sampleBlock.Encode(&sampleFrame, nil, nil)
)

// storedBlock returns the data as a deflate stream without compression.
func storedBlock(data []byte) []byte {
	n := len(data)
	return append([]byte{1, byte(n), byte(n >> 8), ^byte(n), ^byte(n >> 8)}, data...)
}

// sampleData returns the data of a block with the members of sampleBlock and the given
// sections.
func sampleData(sections ...[]byte) []byte {
	return slices.Concat(sampleFrame.Data, storedBlock(slices.Concat(sections...)))
}

func envelope(o api.Object) Envelope { return AppendEnvelope(nil, &o) }

// pod returns an envelope with a cell of every kind.
func pod(body api.Body) Envelope {
	return envelope(api.Object{
		Key: "default/web-1", UID: "6c3a1b9e-0d7f-4c55-9f64-2f2f3a9f7a01",
		Fields: []string{"web-1", "default", "node-a"},
		Columns: []api.Value{
			{Kind: api.String, Text: "web-1 ✓"},
			{Kind: api.String, Text: "node-a"},
			{Kind: api.Date, Int: 1_700_000_000_123},
			{},
			{Kind: api.Bool, Int: 1},
			{Kind: api.Bool},
			{Kind: api.Integer, Int: -1},
			{Kind: api.Integer, Int: math.MaxInt64},
			{Kind: api.Integer, Int: math.MinInt64},
			{Kind: api.Number, Float: -0.1},
			{Kind: api.Number, Float: math.Inf(1)},
			{Kind: api.Duration, Int: 90_000},
			{Kind: api.Integer, Int: 3, Time: 1_700_000_000_123},
		},
		Body: body,
	})
}

var (
	jsonBody = api.Body{Codec: api.JSON, Data: []byte(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web-1","namespace":"default","uid":"6c3a1b9e-0d7f-4c55-9f64-2f2f3a9f7a01","labels":{"app":"web","tier":""}}}`)}
	webItem  = Item{ResourceVersion: 1 << 53, Flags: api.Immutable, Labels: webLabels, Envelope: pod(jsonBody)}
	bareItem = Item{ResourceVersion: maxRV, Flags: api.FinalStateUnknown, Envelope: envelope(api.Object{Key: "node-a"})}
)

// timedItem has texts with times, one of them with the text of a field.
var timedItem = Item{ResourceVersion: 7, Envelope: envelope(api.Object{
	Key: "default/web-1", Fields: []string{"web-1", "Started"},
	Columns: []api.Value{
		{Kind: api.String, Text: "Started"},
		{Kind: api.String, Text: "Started", Time: 1_700_000_000_123},
		{Kind: api.String, Time: 1_700_000_060_123},
		{Kind: api.String},
	},
})}

// webPatch changes the node and the restarts of a pod, and barePatch removes a body.
var (
	webPatch  = patch(pod(jsonBody), pod2, api.Body{Codec: api.Delta, Data: []byte{4, 1, 2}})
	barePatch = patch(bareItem.Envelope, bareItem.Envelope, api.Body{})
	pod2      = envelope(api.Object{
		Key: "default/web-1", UID: "6c3a1b9e-0d7f-4c55-9f64-2f2f3a9f7a01",
		Fields: []string{"web-1", "default", "node-b"},
		Columns: []api.Value{
			{Kind: api.String, Text: "web-1 ✓"},
			{Kind: api.String, Text: "node-b"},
			{Kind: api.Date, Int: 1_700_000_000_123},
			{},
			{Kind: api.Bool, Int: 1},
			{Kind: api.Integer, Int: 7},
			{Kind: api.Integer, Int: -1},
			{Kind: api.Integer, Int: math.MaxInt64},
			{Kind: api.Integer, Int: math.MinInt64},
			{Kind: api.Number, Float: -0.1},
			{},
			{Kind: api.Date, Int: 1_700_000_000_123},
			{Kind: api.Integer, Int: 4, Time: 1_700_000_060_123},
		},
	})
)

func patch(previous, current Envelope, body api.Body) Patch {
	p, ok := AppendPatch(nil, previous, current, body)
	if !ok {
		panic("no patch")
	}
	return p
}

// savedSubscription contains large numbers. savedSession is the saved state of a session
// with this subscription.
var (
	savedSubscription = &SavedSubscription{
		Subscribe: Subscribe{Subscription: 1, Resource: "v1/pods", ResourceVersion: 42, NotOlderThan: 42, ClusterID: "etcd-1", Credit: 4 << 20},
		Live:      true, ReportedMillis: 1_700_000_000_123, Debt: 700,
	}
	savedSession = savedSubscription.Append((&Dictionary{ID: 7}).Append((&Hello{Version: Version}).Append(nil)))
)

var storedChunk = &Chunk{
	Resource: "v1/pods", Namespace: "default", LabelSelector: "app=web", FieldSelector: "status.phase=Running", MetadataOnly: true,
	ClusterID: "etcd-1", From: maxRV, LastProgressMillis: 1_700_000_000_123, Previous: math.MaxUint64, Last: true,
	Frames: (&Progress{Subscription: 1, ResourceVersion: 43}).Append(nil),
	Body:   ChunkBody{Objects: 2, First: "default/a", At: 1, Bytes: 700, Memory: 900, Sum: math.MaxUint64},
}

// samples contains every frame at least once, with extreme values.
var samples = []sample{
	{"", &Hello{Version: Version, Token: "s3cr3t", Client: "watchglass-js/0.1.0"}},
	{"zero", &Hello{}},
	{"", &Subscribe{Subscription: 1, Resource: "apps/v1/deployments", Namespace: "default", LabelSelector: "app in (web,api),!canary", FieldSelector: "metadata.name!=x", ResourceVersion: 42, NotOlderThan: maxRV, ClusterID: "etcd-1", DeltaEpoch: math.MaxUint64, DeltaEpochSince: 41, MetadataOnly: true, Credit: 4 << 20}},
	{"rows", &Subscribe{Subscription: 2, Resource: "v1/pods", ResourceVersion: 42, RowsFirst: true, BodiesFrom: "default/web-1", Credit: 1}},
	{"continued", &Subscribe{Subscription: 2, Resource: "v1/pods", ResourceVersion: 42, SnapshotFrom: "default/web-1\x00", Credit: 1}},
	{"zero", &Subscribe{}},
	{"", &Unsubscribe{Subscription: math.MaxUint32}},
	{"", &Credit{Subscription: 1, Bytes: math.MaxUint64}},
	{"", &RequestProgress{Subscription: 1}},
	{"", &Pong{Mark: math.MaxUint64}},
	{"", &RequestBody{Subscription: 1, Key: "default/web-1"}},
	{"zero", &RequestBody{}},
	{"", &ChooseColumns{Subscription: 7, Columns: podSchema.Columns[:3]}},
	{"zero", &ChooseColumns{Columns: []api.Column{}}},

	{"", &Welcome{Version: Version, Server: "watchglass/0.1.0", ProgressMillis: 10_000}},
	{"", &Schema{Subscription: 1, Schema: podSchema, Dictionary: 7, ClusterID: "etcd-1", DeltaEpoch: math.MaxUint64}},
	{"bare", &Schema{Subscription: 2, Schema: bareSchema}},
	{"", &Dictionary{ID: 7, Data: []byte("\x00\xff dictionary")}},
	{"", &LabelSet{Subscription: 1, ID: 300, Labels: webLabels}},
	{"empty", &LabelSet{Subscription: 1}},
	{"", &SnapshotBegin{Subscription: 1, ResourceVersion: 42, Total: 20_000}},
	{"continued", &SnapshotBegin{Subscription: 1, ResourceVersion: 42, Total: 20_000, Continues: true}},
	{"", &SnapshotPart{Subscription: 1, Objects: []Change{
		{Type: api.Added, ResourceVersion: 41, LabelSet: 300, Flags: api.Immutable, Key: "default/web-1", Envelope: pod(api.Body{Codec: api.Packed, Data: []byte{0, 1, 2}})},
		{Type: api.Added, ResourceVersion: maxRV, Key: "node-a", Envelope: bareItem.Envelope},
	}}},
	{"", &SnapshotEnd{Subscription: 1, ResourceVersion: maxRV}},
	{"", &Events{Subscription: 1, ResourceVersion: maxRV, Changes: []Change{
		{Type: api.Added, ResourceVersion: 1, LabelSet: 300, Key: "default/web-1", Envelope: pod(api.Body{Codec: api.Packed, Data: []byte{3}})},
		{Type: api.Modified, ResourceVersion: maxRV - 1, Key: "node-a", Envelope: bareItem.Envelope},
		{Type: api.Deleted, ResourceVersion: maxRV, Key: "node-a"},
	}}},
	{"empty", &Events{Subscription: 1, ResourceVersion: 43}},
	{"delta", &Events{Subscription: 1, ResourceVersion: 900, Changes: []Change{
		{Type: api.Modified, ResourceVersion: 898, LabelSet: 300, Key: "default/web-1", Patch: webPatch, Previous: 890, Base: Base{ResourceVersion: 500}},
		{Type: api.Added, ResourceVersion: 899, LabelSet: 300, Key: "default/web-1", Envelope: pod(api.Body{Codec: api.Delta, Data: []byte{4}}), Base: Base{ResourceVersion: 1, Body: api.Body{Codec: api.Packed, Data: []byte{3}}}},
		{Type: api.Modified, ResourceVersion: 900, Flags: api.Immutable, Key: "node-a", Patch: barePatch, Previous: 899},
	}}},
	{"", &Progress{Subscription: 1, ResourceVersion: 43}},
	{"", &SubscriptionStatus{Subscription: 1, Status: gone}},
	{"", &ObjectError{Subscription: 1, Key: "default/huge", ResourceVersion: 44, Status: api.TooLarge("the object has 9 MiB, the limit is 8 MiB")}},
	{"", &SourceError{Subscription: 1, Status: api.Unavailable("etcd 10.0.0.1:2379 cannot be reached")}},
	{"waiting", &SourceError{Subscription: 1}},
	{"", &Ping{Mark: math.MaxUint64}},
	{"", &Checksum{Sum: math.MaxUint32}},
	{"", &Fragment{Rest: 1_336_000, Data: []byte("\x16\xff\x00 and so on")}},
	{"last", &Fragment{Data: []byte{0}}},
	{"", &SnapshotBlock{Subscription: 1, Objects: 2, Envelopes: sampleFrame.Envelopes, Members: sampleFrame.Members, Bodies: sampleFrame.Bodies, Data: sampleData(blockEnvelopes, blockBodies)}},
	{"", &SnapshotBodies{Subscription: 1, First: "default/web-1", Objects: 2, Digest: math.MaxUint64 - 1, Members: sampleFrame.Members, Bodies: sampleFrame.Bodies, Data: sampleData(blockBodies)}},
	{"plain", &SnapshotBodies{Subscription: 1, First: "default/web-1", Objects: 2, Digest: 1, Members: sampleFrame.Members, Data: slices.Concat(sampleFrame.Data, blockBodies)}},
	{"last", &SnapshotBodies{Subscription: 1, Last: true}},
	{"metadata", &SnapshotBlock{Subscription: 1, Objects: 2, Envelopes: uint32(len(blockEnvelopes)), Data: storedBlock(blockEnvelopes)}},

	{"", storedChunk},
	{"zero", &Chunk{}},
	{"", savedSubscription},
	{"zero", &SavedSubscription{}},
	{"", &StoredBlock{
		Block:   BlockBodies{Objects: 2, Before: sampleFrame.Envelopes, Members: sampleFrame.Members, Bodies: sampleFrame.Bodies, Data: sampleData(blockEnvelopes, blockBodies)},
		Members: []uint32{1},
	}},
	{"rows", &StoredBlock{
		Block: BlockBodies{Objects: 2, Members: sampleFrame.Members, Bodies: sampleFrame.Bodies, Data: sampleData(blockBodies)},
		Rows:  blockEnvelopes, Members: []uint32{0, 1},
	}},

	{"", &Config{Seed: math.MaxUint64, Client: "test", MaxBytes: 512 << 20, MaxHistory: 1024, Credit: 4 << 20, Kubernetes: "https://10.0.0.1:6443"}},
	{"zero", &Config{}},
	{"", &OpenCollection{Collection: 1, Resource: "v1/pods", Namespace: "default", LabelSelector: "app=web", FieldSelector: "status.phase=Running", MetadataOnly: true, Restore: true, Columns: podSchema.Columns}},
	{"rows", &OpenCollection{Collection: 2, Resource: "v1/pods", RowsFirst: true}},
	{"zero", &OpenCollection{}},
	{"", &CloseCollection{Collection: 1}},
	{"", &OpenWatch{Watch: 128, Collection: 1, Namespace: "default", LabelSelector: "app=web", FieldSelector: "metadata.name=x", ResourceVersion: "18446744073709551615", Match: api.MatchNotOlderThan, SendInitialEvents: api.True, Bookmarks: true, TimeoutSeconds: 300, Bodies: true, Policy: api.PolicyStall, Credit: 1000, Previous: true}},
	{"zero", &OpenWatch{}},
	{"", &GrantWatch{Watch: 128, Events: math.MaxUint32}},
	{"", &CloseWatch{Watch: 128}},
	{"", &Get{Request: 1, Collection: 1, Key: "default/web-1"}},
	{"", &List{Request: 2, Collection: 1, Namespace: "default", LabelSelector: "app=web", FieldSelector: "metadata.name=x", ResourceVersion: "42", Match: api.MatchExact, Limit: 500, Continue: "eyJ2IjoxfQ", Bodies: true}},
	{"zero", &List{}},
	{"", &OpenView{View: 3, Collection: 1, Namespaces: []string{"default", "shop"}, LabelSelector: "app=web", FieldSelector: "metadata.name=x", Search: `pay -"old api"`, Where: "restarts>3", OwnedBy: "6f1c9a52-0d3e-4b77-9c1a-2e8d5f40b7a3", Recursive: true, Sort: "-Age, name", Offset: 100, Limit: MaxViewRows, Anchor: "default/web-1", Before: math.MaxUint32, Facets: []Facet{
		{By: "status.phase"}, {By: "age", Width: 1<<53 - 1}, {By: "labels[app]", Then: "status.phase", Limit: MaxFacetValues, RowsOnly: true, Aggregates: []string{"restarts", "age"}},
	}}},
	{"", &GrantView{View: 3}},
	{"", &MoveView{View: 3, Offset: 127, Limit: 128}},
	{"anchor", &MoveView{View: 3, Offset: 127, Limit: 128, Anchor: "default/web-1", Before: 20}},
	{"", &CloseView{View: 3}},
	{"", &Inspect{Request: 4}},
	{"", &AcquireObject{Handle: 5, Resource: "v1/secrets", Key: "default/tls", Owner: "6c3a1b9e", OnDemand: true}},
	{"zero", &AcquireObject{}},
	{"", &ReleaseObject{Handle: math.MaxUint32}},
	{"", &GetObject{Request: 6, Resource: "v1/secrets", Key: "default/tls"}},
	{"", &StreamOpened{Stream: 1, Token: "s3cr3t"}},
	{"", &StreamData{Stream: 1, Data: (&Progress{Subscription: 1, ResourceVersion: 43}).Append(nil)}},
	{"127", &StreamData{Stream: 1, Data: []byte(strings.Repeat("x", 0x7f-2))}},
	{"128", &StreamData{Stream: 1, Data: []byte(strings.Repeat("x", 0x80-3))}},
	{"", &StreamClosed{Stream: 1, Message: "connection refused"}},
	{"", &Reconnect{}},
	{"", &TakeSnapshot{Request: 7, Collection: 1, ResourceVersion: maxRV, ClusterID: "etcd-1", ChunkBytes: 256 << 10}},
	{"zero", &TakeSnapshot{}},
	{"", &NextChunk{Request: 7}},
	{"stop", &NextChunk{Request: 7, Stop: true}},
	{"", &RestoreChunk{Collection: 1, Data: storedChunk.Append(nil)}},
	{"end", &RestoreChunk{Collection: 1, End: true}},
	{"left-out", &RestoreChunk{Collection: 1, Data: storedChunk.Append(nil), Body: math.MaxUint32}},
	{"", &AttachReader{Reader: 9, Allowed: []ReaderScope{{Resource: "v1/pods", Namespace: "default"}, {Resource: "*"}}, ProgressMillis: 5000, MaxSubscriptions: 16, Room: math.MaxUint64, Saved: savedSession, Stalled: true}},
	{"zero", &AttachReader{}},
	{"", &ReaderMessage{Reader: 9, Data: (&Hello{Version: Version}).Append(nil)}},
	{"", &GrantReader{Reader: 9, Bytes: math.MaxUint64}},
	{"", &DetachReader{Reader: 9}},
	{"", &SaveReader{Reader: 9}},
	{"", &Fetched{Stream: 3, Code: 429, RetryAfterSeconds: 7}},

	{"", &OpenStream{Stream: 1}},
	{"", &SendStream{Stream: 1, Data: (&Hello{Version: Version}).Append(nil)}},
	{"16383", &SendStream{Stream: 1, Data: []byte(strings.Repeat("x", 0x3fff-3))}},
	{"16384", &SendStream{Stream: 1, Data: []byte(strings.Repeat("x", 0x4000-3))}},
	{"", &CloseStream{Stream: 1, Message: "protocol error: frame of type 0x7f is unknown"}},
	{"", &WakeAt{Millis: 1_700_000_000_123}},
	{"past", &WakeAt{Millis: -1}},
	{"", &CollectionState{Collection: 1, State: api.StateLive, ResourceVersion: maxRV, LastProgressMillis: 1_700_000_000_123, Objects: 20_000, Loaded: 0, Total: 0, Bodies: 300}},
	{"waiting", &CollectionState{Collection: 1, State: api.StateStale, ResourceVersion: 43, LastProgressMillis: 1_700_000_000_123, NextAttemptMillis: 1_700_000_035_123, Objects: 20_000}},
	{"closed", &CollectionState{Collection: 1, State: api.StateClosed, Loaded: 1 << 52, Total: 1<<53 - 1, Status: gone}},
	{"", &CollectionSchema{Collection: 1, Schema: podSchema}},
	{"bare", &CollectionSchema{Collection: 1, Schema: bareSchema}},
	{"", &CollectionError{Collection: 1, Key: "default/huge", ResourceVersion: 44, Status: api.TooLarge("the object has 9 MiB, the limit is 8 MiB")}},
	{"", &WatchEvents{Watch: 128, Events: []WatchEvent{
		{Type: api.Added, Item: webItem},
		{Type: api.Modified, Item: webItem},
		{Type: api.Deleted, Item: bareItem},
		{Type: api.Bookmark, Item: Item{ResourceVersion: maxRV, Flags: api.EndOfInitialEvents}},
	}}},
	{"previous", &WatchEvents{Watch: 128, Events: []WatchEvent{{Type: api.Modified, Item: webItem, Previous: &bareItem}}}},
	{"empty", &WatchEvents{Watch: 128}},
	{"", &WatchClosed{Watch: 128, End: api.WatchEndOvertaken, Status: api.WatchEndOvertaken.Expired("the history begins at resourceVersion 42")}},
	{"timeout", &WatchClosed{Watch: 128, End: api.WatchEndTimeout}},
	{"", &ViewPatch{View: 3, ResourceVersion: maxRV, Total: 1<<53 - 1, Offset: math.MaxUint32,
		Facets: []FacetCounts{{Values: []Count{{Value: "", Rows: 1}, {Value: "Running", Then: "node-1", Rows: 19_999, Aggregates: []Aggregate{{Values: 3, Sum: 0.5, Min: -2, Max: 1e300}, {}}}}}, {Values: []Count{}, OtherValues: 2, OtherRows: 20_000}},
		Edits:  []Edit{{Keep: 1, Remove: 200, Insert: []Item{webItem, bareItem}}, {Keep: 0, Remove: 1}, {Keep: 300, Insert: []Item{bareItem}}}}},
	{"reset", &ViewPatch{View: 3, ResourceVersion: 9, Total: 1, Reset: true, Edits: []Edit{{Insert: []Item{bareItem}}}}},
	{"empty", &ViewPatch{View: 3, ResourceVersion: 9}},
	{"", &Rejected{Object: ObjectView, ID: 3, Status: bad}},
	{"collection", &Rejected{Object: ObjectCollection, ID: 1, Status: api.Forbidden("pods is forbidden")}},
	{"", &ObjectReply{Request: 1, Item: webItem}},
	{"times", &ObjectReply{Request: 1, Item: timedItem}},
	{"", &ListReply{Request: 2, ResourceVersion: maxRV, Continue: "eyJ2IjoxfQ", Remaining: 7, Items: []Item{webItem, bareItem}}},
	{"empty", &ListReply{Request: 2, ResourceVersion: 1}},
	{"", &InspectReply{Request: 4, Entries: []InspectEntry{{"collection.1.objects", 20_000}, {"lag.millis", -1}}}},
	{"", &ErrorReply{Request: 4, Status: api.NotFound(`pods "web-1" not found`)}},
	{"", &ObjectChanged{Handle: 5, ResourceVersion: maxRV, Item: &webItem}},
	{"absent", &ObjectChanged{Handle: 5, ResourceVersion: 42}},
	{"", &ObjectState{Handle: 5, State: api.StateLive}},
	{"forbidden", &ObjectState{Handle: 5, State: api.StateForbidden, Status: api.Forbidden("secrets is forbidden")}},
	{"", &SnapshotChunk{Request: 7, Whole: true, Last: true, ResourceVersion: maxRV, ClusterID: "etcd-1", Data: storedChunk.Append(nil)}},
	{"zero", &SnapshotChunk{}},
	{"", &Fetch{Stream: 3, Path: "/api/v1/pods?watch=1&labelSelector=app%3Dweb"}},
	{"", &SendReader{Reader: 9, Data: (&Progress{Subscription: 1, ResourceVersion: 43}).Append(nil)}},
	{"", &CloseReader{Reader: 9, Status: bad}},
	{"", &SavedReader{Reader: 9, Data: savedSession}},
	{"", &ReaderStalled{Reader: 9, Stalled: true}},
	{"over", &ReaderStalled{Reader: 9}},
	{"restore", &Rejected{Object: ObjectRestore, ID: 1, Status: bad}},
	{"reader", &Rejected{Object: ObjectReader, ID: 9, Status: bad}},
	{"handle", &Rejected{Object: ObjectHandle, ID: 5, Status: bad}},
}
