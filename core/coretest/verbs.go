package coretest

import (
	"maps"
	"slices"
)

// verbs is what a scenario can say. A handler reads the words of its line,
// checks with done that none is left, and acts.
var verbs map[string]func(*harness, *verb) error

func init() {
	verbs = map[string]func(*harness, *verb) error{
		// The set-up, before everything else.
		"config": doConfig, // seed= client= max-bytes= max-history= credit= connector-history= bases= progress= message= subscriptions= kubernetes=

		// The source behind the connector.
		"load":     doLoad,     // RESOURCE rv= source=, then objects: the first list
		"relist":   doRelist,   // RESOURCE rv= source=, then objects: the source relists
		"put":      doPut,      // RESOURCE OBJECT delta: an object is created or updated, its body the difference from its base
		"churn":    doChurn,    // RESOURCE KEY from= to=: it is updated once at each of these versions, which are its restarts
		"delete":   doDelete,   // RESOURCE KEY rv=
		"txn":      doTxn,      // rv=, then puts and deletes without rv: one revision
		"progress": doProgress, // RESOURCE rv=: nothing is missing up to there
		"fault":    doFault,    // RESOURCE KEY rv= MESSAGE: an object that cannot be read
		"steady":   doSteady,   // DURATION: from now on all sources report progress that often
		"quiet":    doQuiet,    // no more of that
		"forbid":   doForbid,   // RESOURCE MESSAGE: subscribers get a 403
		"deny":     doDeny,     // RESOURCE code= retry= MESSAGE: subscribers get that status
		"allow":    doAllow,    // RESOURCE: no longer

		// The network and the connector's process.
		"accept":            doAccept,           // streams open (as they do at first)
		"refuse":            doRefuse,           // MESSAGE: they do not
		"pending":           doPending,          // they wait for an accept or a refuse
		"cut":               doCut,              // MESSAGE: the stream ends, what is under way is lost
		"drop":              doDrop,             // from now on the stream drops all messages silently
		"hold":              doHold,             // messages stay under way
		"release":           doRelease,          // they arrive again
		"deliver":           doDeliver,          // N: so many of those held arrive
		"lock":              doLock,             // MESSAGE: it refuses all connections
		"unlock":            doUnlock,           // it does again
		"restart-connector": doRestartConnector, // bases=: it loses its history and its connections, and has new bases
		"replica":           doReplica,          // RESOURCE rv= columns= source= bases=, then objects: another connector takes over, with this state
		"tap":               doTap,              // from now on it is printed how bodies travel
		"send-garbage":      doSendGarbage,      // HEX: the connector sends these bytes

		// A Kubernetes API that the engine reads itself. The scenario says what it answers.
		"answer": doAnswer, // STREAM CODE retry=: the head of an answer
		"body":   doBody,   // STREAM pieces= open, then lines: some of its body, so many bytes at a time; open leaves the last line feed out
		"end":    doEnd,    // STREAM MESSAGE: its end, in order if there is no message

		// The clock.
		"tick":  doTick,  // DURATION: time passes, and what is due happens
		"clock": doClock, // DURATION: the engine's clock is set, without time passing
		"wakes": doWakes, // prints when the engine wants its next tick

		// The program.
		"collection":       doCollection, // ID RESOURCE ns= labels= fields= restore= metadata-only
		"close-collection": doCloseCollection,
		"watch":            doWatch, // ID collection= ns= labels= fields= rv= match= initial= timeout= policy= credit= bookmarks bodies
		"grant":            doGrant, // ID EVENTS
		"close-watch":      doCloseWatch,
		"view":             doView,      // ID collection= ns= labels= fields= sort= offset= limit= count-by=
		"hold-view":        doHoldView,  // ID: the program applies one patch more
		"grant-view":       doGrantView, // ID: the program applies patches again, and grants the next
		"move":             doMove,      // ID offset= limit=
		"close-view":       doCloseView,
		"get":              doGet,     // COLLECTION KEY
		"list":             doList,    // COLLECTION ns= labels= fields= rv= match= limit= continue= bodies
		"acquire":          doAcquire, // HANDLE RESOURCE KEY owner= on-demand
		"release-object":   doReleaseObject,
		"get-object":       doGetObject, // RESOURCE KEY
		"snapshot":         doSnapshot,  // NAME COLLECTION chunk= stepwise: what is kept under the name is replaced, or goes on
		"chunk":            doChunk,     // NAME stop: asks for the next, or for no more
		"damage":           doDamage,    // NAME HOW: spoils what is kept
		"attach":           doAttach,    // READER allow=RESOURCE@NAMESPACE,... room= progress= subscriptions= kept: the engine serves a reader
		"reader":           doReader,    // READER hello | subscribe ID RESOURCE ns= labels= fields= rv= source= metadata-only | unsubscribe ID | garbage HEX
		"room":             doRoom,      // READER BYTES: its connection takes more
		"keep":             doKeep,      // READER: what it takes to attach it again, as if nothing had happened
		"detach":           doDetach,    // READER
		"inspect":          doInspect,
		"reconnect":        doReconnect,   // now, rather than after the back-off
		"step-garbage":     doStepGarbage, // HEX: the program gives the engine these bytes
	}
}

func verbNames() []string { return slices.Sorted(maps.Keys(verbs)) }
