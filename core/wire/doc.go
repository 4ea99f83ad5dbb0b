// Package wire is the one encoding between everything that runs a piece of
// watchglass: connector and reader over the network, and the engine and the
// program around it across the module boundary.
//
// A frame is a type byte, a varint length and a payload. Integers are
// little-endian base-128 varints, strings and byte strings carry a varint
// length. Types from 0x80 on are optional: a reader that does not know one
// skips it; an unknown type below is a protocol error. One message carries one
// or more whole frames; a long one goes in several, each a [Fragment].
//
// Every frame has a file of its own with its struct, an Append method and a
// Parse method. Append writes the whole frame. Parse reads a payload, refuses
// anything truncated, oversized or trailing, and allocates nothing but what its
// slices need: a parsed frame that is parsed into again reuses them. Strings and
// byte slices of a parsed frame alias the payload; they live as long as the
// caller leaves the payload alone, and whoever keeps one copies it.
//
// The frames, by who sends them:
//
//   - reader to connector: [Hello], [Subscribe], [Unsubscribe], [Credit],
//     [RequestProgress], [Pong]
//   - connector to reader: [Welcome], [Schema], [Dictionary], [LabelSet],
//     [SnapshotBegin], [SnapshotPart], [SnapshotEnd], [Events], [Progress],
//     [SubscriptionStatus], [ObjectError], [SourceError], [Ping], [Fragment]
//   - program to engine, commands: [Config], [OpenCollection],
//     [CloseCollection], [OpenWatch], [GrantWatch], [CloseWatch], [Get], [List],
//     [OpenView], [GrantView], [MoveView], [CloseView], [AcquireObject],
//     [ReleaseObject], [GetObject], [Inspect], [TakeSnapshot], [NextChunk],
//     [RestoreChunk], [AttachReader], [ReaderMessage], [GrantReader],
//     [DetachReader], [KeepReader]; results of I/O: [StreamOpened],
//     [StreamData], [StreamClosed], [Fetched], [Reconnect]
//   - engine to program, intents: [OpenStream], [SendStream], [CloseStream],
//     [Fetch], [WakeAt]; deliveries: [CollectionState], [CollectionSchema],
//     [CollectionError], [WatchEvents], [WatchClosed], [ViewPatch],
//     [ObjectChanged], [ObjectState], [Rejected], [ObjectReply], [ListReply],
//     [InspectReply], [ErrorReply], [SnapshotChunk], [SendReader],
//     [CloseReader], [KeptReader], [ReaderStalled]
//   - at rest: [Chunk], [KeptSubscription]
//
// The files in testdata/wire pin the bytes of every frame.
package wire
