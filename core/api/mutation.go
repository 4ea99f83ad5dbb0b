package api

// Mutation is a deliberate bug. In a build with the tag "mutant" one of them
// can be switched on, to see that the tests notice; in every other build
// [Mutated] is false and the compiler leaves no trace of it.
type Mutation uint8

// The mutations.
const (
	NoMutation Mutation = iota
	WatermarkOffByOne
	RevisionSplitOnResume
	MissedDeletionOnRelist
	BookmarkOvertakesEvent
	DuplicateAfterResume
	StaleFilterMemo
	DrainDropsEndMarker
	WindowOffByOne
	ViewRankOffByOne
	ReferenceLeak
	DispatchMissesWatcher
	ConflationReorders
	StalenessUnsaid
	StaleLabelSet
	BackInTime
	ForeignBases
	KeptTooFar
	ExpiredSwallowed
	ProgressUnproved
	BudgetIgnored
	LostChunkAccepted
	RefusalUntold
	ChangesAreProgress
	LeftChangeForgotten
	mutations
)

var mutationNames = [mutations]string{
	"none", "watermark off by one", "resume version advanced in mid-revision", "missed deletion on relist",
	"bookmark overtaking an event", "duplicate after resume", "stale filter memo after a label change",
	"drain that drops the end marker", "window boundary off by one", "view rank off by one", "reference leak",
	"dispatch missing a watcher", "conflation that reorders", "staleness unsaid", "stale label set on the wire",
	"snapshot of an older replica taken",
	"difference from a base of another connector", "kept session that claims what was not sent",
	"410 of Kubernetes taken for an outage", "progress of Kubernetes without asking how far it is",
	"memory beyond the budget", "stored state with a chunk missing taken", "refusal of a collection kept from who is served from it",
	"changes from long ago taken for progress", "objects loaded without the changes that were kept of them",
}

// String says what is wrong.
func (m Mutation) String() string { return mutationNames[m] }
