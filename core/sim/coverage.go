package sim

import (
	"fmt"
	"strings"
)

// Situation is something interesting that a campaign must have seen.
type Situation int

// The situations.
const (
	Relisted Situation = iota
	Resumed
	Expired
	WatchExpired
	WatchResumed
	OverflowTerminated
	Conflated
	GracefulDrain
	EndMarkerRace
	OlderReplica
	BudgetReached
	ImmutableStop
	IdleRestart
	CutInMessage
	MessageDropped
	ReaderResumed
	RevisionCut
	HalfOpen
	SaidStale
	SourceReplaced
	LeaderLost
	ReasonTold
	ConnectorRestarted
	DifferenceTold
	BaseInSnapshot
	BaseForResumed
	SnapshotRestored
	SnapshotOfChanges
	SnapshotRefused
	situations
)

var situationNames = [situations]string{
	"relist", "resume without relist", "410 for a subscription", "410 for a watch", "watch resumed by version",
	"overflow-terminate", "conflation", "graceful drain", "end-marker race", "failover to an older replica",
	"budget reached", "immutable stop", "idle restart", "connection cut in a message", "message dropped", "reader reopened, watch resumed", "revision cut between batches",
	"half-open connection", "stale, and said so", "another source", "leader loss", "the source's error told", "connector restart",
	"body told as a difference", "base brought along in a snapshot", "base brought along for a resumed reader",
	"snapshot restore", "snapshot of changes", "damaged snapshot refused",
}

// Coverage counts situations.
type Coverage [situations]int

// Add adds the counts of another run.
func (c *Coverage) Add(o *Coverage) {
	for i := range c {
		c[i] += o[i]
	}
}

// Missing names what was never seen.
func (c *Coverage) Missing() []string {
	var names []string
	for i, n := range c {
		if n == 0 {
			names = append(names, situationNames[i])
		}
	}
	return names
}

// String is the table.
func (c *Coverage) String() string {
	var b strings.Builder
	for i, n := range c {
		fmt.Fprintf(&b, "  %-30s %d\n", situationNames[i], n)
	}
	return b.String()
}
