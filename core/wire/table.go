package wire

import (
	"strconv"

	"github.com/watchglass/watchglass/core/api"
)

// Frame is a received frame of any type. The interface omits the Append method that
// every frame has. Programs therefore do not link that method for frames that they
// only receive.
type Frame interface {
	Parse(payload []byte) error
}

// Set lists frame types that a program needs together, such as those of one direction or
// of one kind of persisted data. A program links only the frames in the sets that it uses.
type Set []struct {
	Type Type
	New  func() Frame
}

// New returns an empty frame of a type. For a type that is not in the set, it returns nil
// if the type is optional, and an error otherwise.
func (s Set) New(t Type) (Frame, error) {
	for i := range s {
		if s[i].Type == t {
			return s[i].New(), nil
		}
	}
	return nil, Unknown(t)
}

// Parse parses the payload of a frame. Like New, it returns nil for an optional type
// that is not in the set.
func (s Set) Parse(t Type, payload []byte) (Frame, error) {
	f, err := s.New(t)
	if f != nil {
		err = f.Parse(payload)
	}
	return f, err
}

// Each parses the frames of a message and passes them to handle. It skips frames of
// unknown optional types. It stops at the first error, after the preceding frames have
// been handled.
func (s Set) Each(message []byte, handle func(Type, Frame) error) error {
	for len(message) > 0 {
		t, payload, rest, err := Next(message)
		if err != nil {
			return err
		}
		f, err := s.Parse(t, payload)
		if err == nil && f != nil {
			err = handle(t, f)
		}
		if err != nil {
			return err
		}
		message = rest
	}
	return nil
}

// Unknown returns the error for a frame type that its receiver does not expect, or nil
// for an optional type.
func Unknown(t Type) error {
	if t >= Optional {
		return nil
	}
	s := api.Protocol("frame of type 0x" + strconv.FormatUint(uint64(t), 16) + " is unknown or not allowed here" + remedy)
	s.Cause = unknownFrame
	return s
}

const (
	unknownFrame = "UnknownFrame"
	remedy       = ": both ends must be of the same release of watchglass; reload the page, or upgrade the older one"
	maxRelease   = 64
)

// Release returns a copy of the software version that a peer reports, or "" if it is
// longer than 64 bytes.
func Release(text string) string {
	if len(text) > maxRelease {
		return ""
	}
	return string([]byte(text))
}

// WithReleases returns the error for an unknown frame with the software versions of both
// ends added. It returns any other error unchanged, and every error if a software version
// is unknown.
func WithReleases(err error, connector, reader string) error {
	s, ok := err.(*api.Status)
	if !ok || s.Cause != unknownFrame || connector == "" || reader == "" {
		return err
	}
	named := *s
	named.Message += " (connector " + connector + ", reader " + reader + ")"
	return &named
}

// OtherVersion returns the error for a peer that uses another version of the protocol.
// peers is the subprotocol of the peer, such as "watchglass.v1".
func OtherVersion(peers string) *api.Status {
	return api.Protocol("the other end uses " + peers + ", this end " + Subprotocol + remedy)
}

// The frame types are part of the wire format; do not renumber them.
const (
	TypeHello           Type = 0x01
	TypeSubscribe       Type = 0x02
	TypeUnsubscribe     Type = 0x03
	TypeCredit          Type = 0x04
	TypeRequestProgress Type = 0x05
	TypePong            Type = Optional | 0x06
	TypeRequestBody     Type = 0x07
	TypeChooseColumns   Type = Optional | 0x08

	TypeWelcome            Type = 0x10
	TypeSchema             Type = 0x11
	TypeDictionary         Type = 0x12
	TypeLabelSet           Type = 0x13
	TypeSnapshotBegin      Type = 0x14
	TypeSnapshotPart       Type = 0x15
	TypeSnapshotEnd        Type = 0x16
	TypeEvents             Type = 0x17
	TypeProgress           Type = 0x18
	TypeSubscriptionStatus Type = 0x19
	TypeObjectError        Type = 0x1a
	TypeSourceError        Type = Optional | 0x1b
	TypePing               Type = Optional | 0x1c
	TypeFragment           Type = 0x1d
	TypeSnapshotBlock      Type = 0x1e
	TypeSnapshotBodies     Type = 0x1f
	TypeChecksum           Type = Optional | 0x20

	TypeChunk             Type = 0x30
	TypeSavedSubscription Type = 0x31
	TypeStoredBlock       Type = 0x32

	TypeConfig          Type = 0x40
	TypeOpenCollection  Type = 0x41
	TypeCloseCollection Type = 0x42
	TypeOpenWatch       Type = 0x43
	TypeGrantWatch      Type = 0x44
	TypeCloseWatch      Type = 0x45
	TypeGet             Type = 0x46
	TypeList            Type = 0x47
	TypeOpenView        Type = 0x48
	TypeMoveView        Type = 0x49
	TypeCloseView       Type = 0x4a
	TypeInspect         Type = 0x4b
	TypeAcquireObject   Type = 0x4c
	TypeReleaseObject   Type = 0x4d
	TypeGetObject       Type = 0x4e
	TypeGrantView       Type = 0x4f
	TypeStreamOpened    Type = 0x50
	TypeStreamData      Type = 0x51
	TypeStreamClosed    Type = 0x52
	TypeReconnect       Type = 0x53
	TypeTakeSnapshot    Type = 0x54
	TypeNextChunk       Type = 0x55
	TypeRestoreChunk    Type = 0x56
	TypeAttachReader    Type = 0x57
	TypeReaderMessage   Type = 0x58
	TypeGrantReader     Type = 0x59
	TypeDetachReader    Type = 0x5a
	TypeSaveReader      Type = 0x5b
	TypeFetched         Type = 0x5c

	TypeOpenStream       Type = 0x60
	TypeSendStream       Type = 0x61
	TypeCloseStream      Type = 0x62
	TypeWakeAt           Type = 0x63
	TypeCollectionState  Type = 0x64
	TypeCollectionSchema Type = 0x65
	TypeCollectionError  Type = 0x66
	TypeWatchEvents      Type = 0x67
	TypeWatchClosed      Type = 0x68
	TypeViewPatch        Type = 0x69
	TypeRejected         Type = 0x6a
	TypeObjectReply      Type = 0x6b
	TypeListReply        Type = 0x6c
	TypeInspectReply     Type = 0x6d
	TypeErrorReply       Type = 0x6e
	TypeObjectChanged    Type = 0x6f
	TypeObjectState      Type = 0x70
	TypeSnapshotChunk    Type = 0x71
	TypeSendReader       Type = 0x72
	TypeCloseReader      Type = 0x73
	TypeSavedReader      Type = 0x74
	TypeFetch            Type = 0x75
	TypeReaderStalled    Type = 0x76
)

// FromReader lists the frames from a reader to a connector.
var FromReader = Set{
	{TypeHello, func() Frame { return new(Hello) }},
	{TypeSubscribe, func() Frame { return new(Subscribe) }},
	{TypeUnsubscribe, func() Frame { return new(Unsubscribe) }},
	{TypeCredit, func() Frame { return new(Credit) }},
	{TypeRequestProgress, func() Frame { return new(RequestProgress) }},
	{TypePong, func() Frame { return new(Pong) }},
	{TypeRequestBody, func() Frame { return new(RequestBody) }},
	{TypeChooseColumns, func() Frame { return new(ChooseColumns) }},
}

// FromConnector lists the frames from a connector to a reader.
var FromConnector = Set{
	{TypeWelcome, func() Frame { return new(Welcome) }},
	{TypeSchema, func() Frame { return new(Schema) }},
	{TypeDictionary, func() Frame { return new(Dictionary) }},
	{TypeLabelSet, func() Frame { return new(LabelSet) }},
	{TypeSnapshotBegin, func() Frame { return new(SnapshotBegin) }},
	{TypeSnapshotPart, func() Frame { return new(SnapshotPart) }},
	{TypeSnapshotEnd, func() Frame { return new(SnapshotEnd) }},
	{TypeEvents, func() Frame { return new(Events) }},
	{TypeProgress, func() Frame { return new(Progress) }},
	{TypeSubscriptionStatus, func() Frame { return new(SubscriptionStatus) }},
	{TypeObjectError, func() Frame { return new(ObjectError) }},
	{TypeSourceError, func() Frame { return new(SourceError) }},
	{TypePing, func() Frame { return new(Ping) }},
	{TypeSnapshotBlock, func() Frame { return new(SnapshotBlock) }},
	{TypeSnapshotBodies, func() Frame { return new(SnapshotBodies) }},
	{TypeChecksum, func() Frame { return new(Checksum) }},
}

// Stored lists the frames in the persisted state of a reader, see [SavedReader].
var Stored = Set{
	{TypeHello, func() Frame { return new(Hello) }},
	{TypeDictionary, func() Frame { return new(Dictionary) }},
	{TypeWelcome, func() Frame { return new(Welcome) }},
	{TypeSubscriptionStatus, func() Frame { return new(SubscriptionStatus) }},
	{TypeChooseColumns, func() Frame { return new(ChooseColumns) }},
	{TypeSavedSubscription, func() Frame { return new(SavedSubscription) }},
}

// Persisted lists the frames inside a [Chunk].
var Persisted = Set{
	{TypeSchema, func() Frame { return new(Schema) }},
	{TypeDictionary, func() Frame { return new(Dictionary) }},
	{TypeLabelSet, func() Frame { return new(LabelSet) }},
	{TypeSnapshotBegin, func() Frame { return new(SnapshotBegin) }},
	{TypeSnapshotPart, func() Frame { return new(SnapshotPart) }},
	{TypeStoredBlock, func() Frame { return new(StoredBlock) }},
	{TypeSnapshotEnd, func() Frame { return new(SnapshotEnd) }},
	{TypeEvents, func() Frame { return new(Events) }},
	{TypeProgress, func() Frame { return new(Progress) }},
	{TypeObjectError, func() Frame { return new(ObjectError) }},
}

// FromProgram lists the frames from a program to its engine, which are commands and
// the results of I/O.
var FromProgram = Set{
	{TypeOpenCollection, func() Frame { return new(OpenCollection) }},
	{TypeCloseCollection, func() Frame { return new(CloseCollection) }},
	{TypeOpenWatch, func() Frame { return new(OpenWatch) }},
	{TypeGrantWatch, func() Frame { return new(GrantWatch) }},
	{TypeCloseWatch, func() Frame { return new(CloseWatch) }},
	{TypeGet, func() Frame { return new(Get) }},
	{TypeList, func() Frame { return new(List) }},
	{TypeOpenView, func() Frame { return new(OpenView) }},
	{TypeMoveView, func() Frame { return new(MoveView) }},
	{TypeCloseView, func() Frame { return new(CloseView) }},
	{TypeInspect, func() Frame { return new(Inspect) }},
	{TypeAcquireObject, func() Frame { return new(AcquireObject) }},
	{TypeReleaseObject, func() Frame { return new(ReleaseObject) }},
	{TypeGetObject, func() Frame { return new(GetObject) }},
	{TypeGrantView, func() Frame { return new(GrantView) }},
	{TypeStreamOpened, func() Frame { return new(StreamOpened) }},
	{TypeStreamData, func() Frame { return new(StreamData) }},
	{TypeStreamClosed, func() Frame { return new(StreamClosed) }},
	{TypeReconnect, func() Frame { return new(Reconnect) }},
	{TypeTakeSnapshot, func() Frame { return new(TakeSnapshot) }},
	{TypeNextChunk, func() Frame { return new(NextChunk) }},
	{TypeRestoreChunk, func() Frame { return new(RestoreChunk) }},
	{TypeAttachReader, func() Frame { return new(AttachReader) }},
	{TypeReaderMessage, func() Frame { return new(ReaderMessage) }},
	{TypeGrantReader, func() Frame { return new(GrantReader) }},
	{TypeDetachReader, func() Frame { return new(DetachReader) }},
	{TypeSaveReader, func() Frame { return new(SaveReader) }},
	{TypeFetched, func() Frame { return new(Fetched) }},
}

// FromEngine lists the frames from an engine to its program, which are requests for
// I/O, deliveries and replies.
var FromEngine = Set{
	{TypeOpenStream, func() Frame { return new(OpenStream) }},
	{TypeSendStream, func() Frame { return new(SendStream) }},
	{TypeCloseStream, func() Frame { return new(CloseStream) }},
	{TypeWakeAt, func() Frame { return new(WakeAt) }},
	{TypeCollectionState, func() Frame { return new(CollectionState) }},
	{TypeCollectionSchema, func() Frame { return new(CollectionSchema) }},
	{TypeCollectionError, func() Frame { return new(CollectionError) }},
	{TypeWatchEvents, func() Frame { return new(WatchEvents) }},
	{TypeWatchClosed, func() Frame { return new(WatchClosed) }},
	{TypeViewPatch, func() Frame { return new(ViewPatch) }},
	{TypeRejected, func() Frame { return new(Rejected) }},
	{TypeObjectReply, func() Frame { return new(ObjectReply) }},
	{TypeListReply, func() Frame { return new(ListReply) }},
	{TypeInspectReply, func() Frame { return new(InspectReply) }},
	{TypeErrorReply, func() Frame { return new(ErrorReply) }},
	{TypeObjectChanged, func() Frame { return new(ObjectChanged) }},
	{TypeObjectState, func() Frame { return new(ObjectState) }},
	{TypeSnapshotChunk, func() Frame { return new(SnapshotChunk) }},
	{TypeSendReader, func() Frame { return new(SendReader) }},
	{TypeCloseReader, func() Frame { return new(CloseReader) }},
	{TypeSavedReader, func() Frame { return new(SavedReader) }},
	{TypeFetch, func() Frame { return new(Fetch) }},
	{TypeReaderStalled, func() Frame { return new(ReaderStalled) }},
}

// Alone contains the frames that are always the only frame of a message: the
// configuration of an engine, a chunk of persisted state, and a fragment of a longer
// message.
var Alone = Set{
	{TypeConfig, func() Frame { return new(Config) }},
	{TypeChunk, func() Frame { return new(Chunk) }},
	{TypeFragment, func() Frame { return new(Fragment) }},
}
