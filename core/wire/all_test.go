package wire

// frame is what every frame of this package can do.
type frame interface {
	Append(dst []byte) []byte
	Parse(payload []byte) error
}

// blank returns an empty frame for each type there is.
var blank = map[Type]func() frame{
	TypeHello:           func() frame { return new(Hello) },
	TypeSubscribe:       func() frame { return new(Subscribe) },
	TypeUnsubscribe:     func() frame { return new(Unsubscribe) },
	TypeCredit:          func() frame { return new(Credit) },
	TypeRequestProgress: func() frame { return new(RequestProgress) },

	TypeWelcome:            func() frame { return new(Welcome) },
	TypeSchema:             func() frame { return new(Schema) },
	TypeDictionary:         func() frame { return new(Dictionary) },
	TypeLabelSet:           func() frame { return new(LabelSet) },
	TypeSnapshotBegin:      func() frame { return new(SnapshotBegin) },
	TypeSnapshotPart:       func() frame { return new(SnapshotPart) },
	TypeSnapshotEnd:        func() frame { return new(SnapshotEnd) },
	TypeEvents:             func() frame { return new(Events) },
	TypeProgress:           func() frame { return new(Progress) },
	TypeSubscriptionStatus: func() frame { return new(SubscriptionStatus) },
	TypeObjectError:        func() frame { return new(ObjectError) },
	TypeSourceError:        func() frame { return new(SourceError) },

	TypeChunk: func() frame { return new(Chunk) },

	TypeConfig:          func() frame { return new(Config) },
	TypeOpenCollection:  func() frame { return new(OpenCollection) },
	TypeCloseCollection: func() frame { return new(CloseCollection) },
	TypeOpenWatch:       func() frame { return new(OpenWatch) },
	TypeGrantWatch:      func() frame { return new(GrantWatch) },
	TypeCloseWatch:      func() frame { return new(CloseWatch) },
	TypeGet:             func() frame { return new(Get) },
	TypeList:            func() frame { return new(List) },
	TypeOpenView:        func() frame { return new(OpenView) },
	TypeMoveView:        func() frame { return new(MoveView) },
	TypeCloseView:       func() frame { return new(CloseView) },
	TypeInspect:         func() frame { return new(Inspect) },
	TypeAcquireObject:   func() frame { return new(AcquireObject) },
	TypeReleaseObject:   func() frame { return new(ReleaseObject) },
	TypeGetObject:       func() frame { return new(GetObject) },
	TypeStreamOpened:    func() frame { return new(StreamOpened) },
	TypeStreamData:      func() frame { return new(StreamData) },
	TypeStreamClosed:    func() frame { return new(StreamClosed) },
	TypeReconnect:       func() frame { return new(Reconnect) },
	TypeTakeSnapshot:    func() frame { return new(TakeSnapshot) },
	TypeNextChunk:       func() frame { return new(NextChunk) },
	TypeRestoreChunk:    func() frame { return new(RestoreChunk) },
	TypeAttachReader:    func() frame { return new(AttachReader) },
	TypeReaderMessage:   func() frame { return new(ReaderMessage) },
	TypeGrantReader:     func() frame { return new(GrantReader) },
	TypeDetachReader:    func() frame { return new(DetachReader) },

	TypeOpenStream:       func() frame { return new(OpenStream) },
	TypeSendStream:       func() frame { return new(SendStream) },
	TypeCloseStream:      func() frame { return new(CloseStream) },
	TypeWakeAt:           func() frame { return new(WakeAt) },
	TypeCollectionState:  func() frame { return new(CollectionState) },
	TypeCollectionSchema: func() frame { return new(CollectionSchema) },
	TypeCollectionError:  func() frame { return new(CollectionError) },
	TypeWatchEvents:      func() frame { return new(WatchEvents) },
	TypeWatchClosed:      func() frame { return new(WatchClosed) },
	TypeViewPatch:        func() frame { return new(ViewPatch) },
	TypeRejected:         func() frame { return new(Rejected) },
	TypeObjectReply:      func() frame { return new(ObjectReply) },
	TypeListReply:        func() frame { return new(ListReply) },
	TypeInspectReply:     func() frame { return new(InspectReply) },
	TypeErrorReply:       func() frame { return new(ErrorReply) },
	TypeObjectChanged:    func() frame { return new(ObjectChanged) },
	TypeObjectState:      func() frame { return new(ObjectState) },
	TypeSnapshotChunk:    func() frame { return new(SnapshotChunk) },
	TypeSendReader:       func() frame { return new(SendReader) },
	TypeCloseReader:      func() frame { return new(CloseReader) },
}
