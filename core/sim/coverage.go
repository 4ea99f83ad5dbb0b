package sim

import (
	"fmt"
	"strings"
)

// Situation is a kind of event that must occur in each campaign.
type Situation int

// The situations that a campaign must cover.
const (
	Relisted Situation = iota
	Resumed
	Expired
	SnapshotContinued
	SnapshotRestarted
	WatchExpired
	WatchResumed
	OverflowTerminated
	WatchStalled
	WatchOvertaken
	Conflated
	GracefulDrain
	EndMarkerRace
	OlderReplica
	BudgetReached
	ImmutableStop
	IdleRestart
	CutInMessage
	CutInFragments
	RevisionCut
	MessageDropped
	MessageRepeated
	MessageChanged
	MessageDelayed
	Stalled
	SlowReader
	ClockAhead
	ClockBack
	ReaderResumed
	HalfOpen
	ReportedStale
	SourceReplaced
	SourceCompacted
	SourceRelisted
	Unreadable
	Oversized
	LeaderLost
	ProgressWithheld
	ReasonSent
	ConnectorRestarted
	DeltaSent
	BaseInSnapshot
	BaseForResumed
	ListContinued
	SnapshotRestored
	SnapshotOfChanges
	SnapshotRefused
	ObjectSlept
	ObjectRestored
	BodyLoaded
	BodyMissed
	ObjectRestarted
	SavedReaderResumed
	StandbyTookOver
	ReaderStalled
	StorageLost
	StorageDamaged
	ObjectTooSmall
	ReasonPassedOn
	APIRelisted
	APIResumed
	APIExpired
	APIPaged
	APIPageExpired
	APIClassic
	APITrouble
	APIBehind
	APIOlder
	APICareless
	APISilent
	APIPiece
	APICutInLine
	Narrow
	NarrowBlock
	Unpacked
	Trespassed
	Starved
	SentWhileStarved
	CaughtUp
	BodiesResumed
	BodyFirst
	ChangedRow
	BodiesLeft
	BodiesCorrupt
	ListCorrupt
	BodiesOfOthers
	BodiesIncomplete
	BodyMissing
	OwnedIndirectly
	AnchorMoved
	BlockStored
	BlockShared
	situations
)

var situationNames = [situations]string{
	Relisted:           "relist",
	Resumed:            "resume without relist",
	Expired:            "410 for a subscription",
	SnapshotContinued:  "snapshot continued after a cut",
	SnapshotRestarted:  "snapshot that cannot continue starts over",
	WatchExpired:       "410 for a watch",
	WatchResumed:       "watch resumed by version",
	OverflowTerminated: "overflow-terminate",
	WatchStalled:       "watch that stalls and continues",
	WatchOvertaken:     "watch that stalls and is overtaken",
	Conflated:          "conflation",
	GracefulDrain:      "graceful drain",
	EndMarkerRace:      "end-marker race",
	OlderReplica:       "failover to an older replica",
	BudgetReached:      "budget reached",
	ImmutableStop:      "immutable stop",
	IdleRestart:        "idle restart",
	CutInMessage:       "connection cut in a frame",
	CutInFragments:     "connection cut between fragments of a message",
	RevisionCut:        "revision cut between its changes",
	MessageDropped:     "message dropped",
	MessageRepeated:    "message repeated",
	MessageChanged:     "message with a changed byte refused",
	MessageDelayed:     "message delayed",
	Stalled:            "connection stalled with messages",
	SlowReader:         "slow reader with messages",
	ClockAhead:         "clock jumps ahead",
	ClockBack:          "clock jumps back",
	ReaderResumed:      "reader reopened, watch resumed",
	HalfOpen:           "half-open connection",
	ReportedStale:      "stale, and reported it",
	SourceReplaced:     "another source",
	SourceCompacted:    "source compacted ahead of a connector",
	SourceRelisted:     "connector relists the source",
	Unreadable:         "object that cannot be read",
	Oversized:          "object that is too large",
	LeaderLost:         "leader loss",
	ProgressWithheld:   "source that reports lagging",
	ReasonSent:         "the source's error sent",
	ConnectorRestarted: "connector restart",
	DeltaSent:          "body sent as a delta",
	BaseInSnapshot:     "base sent with a snapshot",
	BaseForResumed:     "base sent to a resumed reader",
	ListContinued:      "list in pages",
	SnapshotRestored:   "snapshot restore",
	SnapshotOfChanges:  "snapshot of changes",
	SnapshotRefused:    "corrupt snapshot refused",
	ObjectSlept:        "edge: object out of memory",
	ObjectRestored:     "edge: collection restored from storage",
	BodyLoaded:         "edge: objects loaded on access",
	BodyMissed:         "edge: objects that could not be loaded",
	ObjectRestarted:    "edge: object restarted",
	SavedReaderResumed: "edge: stored reader resumed",
	StandbyTookOver:    "edge: standby connector took over",
	ReaderStalled:      "edge: reader that stalls",
	StorageLost:        "edge: object without its storage",
	StorageDamaged:     "edge: corrupt storage refused",
	ObjectTooSmall:     "edge: collection dropped for memory",
	ReasonPassedOn:     "edge: error sent by an object",
	APIRelisted:        "direct: relisted",
	APIResumed:         "direct: watch resumed",
	APIExpired:         "direct: 410",
	APIPaged:           "direct: list in pages",
	APIPageExpired:     "direct: continue token expired",
	APIClassic:         "direct: server without initial events",
	APITrouble:         "direct: 429 or 5xx",
	APIBehind:          "direct: 504 of a server that lags behind",
	APIOlder:           "direct: watch from the future of a server",
	APICareless:        "direct: state that is too old",
	APISilent:          "direct: server without its storage",
	APIPiece:           "direct: answer in pieces",
	APICutInLine:       "direct: cut in a line",
	Narrow:             "frame of a narrow subscription",
	NarrowBlock:        "block of a snapshot for a narrow subscription",
	Unpacked:           "body unpacked for what it discloses",
	Trespassed:         "scope without a right refused",
	Starved:            "session that waits for evaluations",
	SentWhileStarved:   "session that waits for evaluations sends something else",
	CaughtUp:           "session that waited for evaluations catches up",
	BodiesResumed:      "rows first: missing bodies requested after a cut",
	BodyFirst:          "rows first: requested body sent before others",
	ChangedRow:         "rows first: change between row and body",
	BodiesLeft:         "rows first: bodies left out for memory",
	BodiesCorrupt:      "rows first: corrupt block requested again",
	ListCorrupt:        "list with corrupt bodies dropped when one is read",
	BodiesOfOthers:     "rows first: block of other versions refused",
	BodiesIncomplete:   "rows first: lost bodies listed again",
	BodyMissing:        "rows first: read ends without its body",
	OwnedIndirectly:    "owner of an owner",
	AnchorMoved:        "window moved by its anchor",
	BlockStored:        "reader stores bodies in their block",
	BlockShared:        "connector stores bodies in their block",
}

// Coverage counts situations.
type Coverage [situations]int

// Add adds the counts of another run.
func (c *Coverage) Add(o *Coverage) {
	for i := range c {
		c[i] += o[i]
	}
}

// Missing returns the names of the situations that did not occur.
func (c *Coverage) Missing() []string {
	var names []string
	for i, n := range c {
		if n == 0 {
			names = append(names, situationNames[i])
		}
	}
	return names
}

// String returns the counts as a table.
func (c *Coverage) String() string {
	var b strings.Builder
	for i, n := range c {
		fmt.Fprintf(&b, "  %-48s %d\n", situationNames[i], n)
	}
	return b.String()
}
