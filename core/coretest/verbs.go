package coretest

import (
	"maps"
	"slices"
)

// verbs are the commands of a scenario. A handler reads the words of its line, calls done
// to check that none is left, and then executes the verb.
var verbs map[string]func(*harness, *verb) error

func init() {
	verbs = map[string]func(*harness, *verb) error{
		// Configuration, before all other verbs.
		"config": doConfig, // seed= client= max-bytes= max-history= credit= connector-history= epoch= progress= message= subscriptions= blocks= kubernetes=

		// The source behind the connector.
		"load":     doLoad,     // RESOURCE rv= cluster=, then objects: the first list
		"relist":   doRelist,   // RESOURCE rv= cluster=, then objects: the source relists
		"put":      doPut,      // RESOURCE OBJECT delta: creates or updates an object; delta makes its body a delta from its base
		"churn":    doChurn,    // RESOURCE KEY from= to=: updates the object once at each of these versions, and sets its restarts to the version
		"delete":   doDelete,   // RESOURCE KEY rv=
		"txn":      doTxn,      // rv=, then puts and deletes without rv, all of one revision
		"progress": doProgress, // RESOURCE rv=: the source reports progress up to this version
		"fault":    doFault,    // RESOURCE KEY rv= MESSAGE: the object becomes unreadable
		"steady":   doSteady,   // DURATION: from now on, all sources report progress at this interval
		"quiet":    doQuiet,    // ends steady
		"forbid":   doForbid,   // RESOURCE MESSAGE: subscribers get a 403
		"deny":     doDeny,     // RESOURCE code= retry= MESSAGE: subscribers get this status
		"allow":    doAllow,    // RESOURCE: ends forbid and deny

		// The network and the connector's process.
		"accept":            doAccept,           // streams open (the default)
		"refuse":            doRefuse,           // MESSAGE: streams are refused
		"pending":           doPending,          // streams wait for an accept or a refuse
		"cut":               doCut,              // MESSAGE: the stream ends, and messages in flight are lost
		"drop":              doDrop,             // from now on the stream drops all messages silently
		"hold":              doHold,             // messages are held in flight
		"release":           doRelease,          // delivers messages again
		"deliver":           doDeliver,          // N: delivers this many of the held messages
		"lock":              doLock,             // MESSAGE: the connector refuses all connections
		"unlock":            doUnlock,           // ends lock
		"restart-connector": doRestartConnector, // epoch=: the connector loses its history and connections, and gets this delta epoch
		"old-connector":     doOldConnector,     // from now on, the connector does not know ChooseColumns
		"new-connector":     doNewConnector,     // ends old-connector
		"replica":           doReplica,          // RESOURCE rv= columns= cluster= epoch=, then objects: another connector takes over with this state
		"tap":               doTap,              // from now on, prints how bodies are encoded
		"corrupt-bodies":    doCorruptBodies,    // the bodies of the next block arrive corrupt
		"change":            doChange,           // TEXT TEXT: in the next message that contains the first text, the network replaces it by the second text
		"lose-bodies":       doLoseBodies,       // blocks of bodies do not arrive any longer on this stream
		"send-garbage":      doSendGarbage,      // HEX: the connector sends these bytes

		// A Kubernetes API that the engine reads directly. The scenario contains the
		// responses of that API.
		"answer": doAnswer, // STREAM CODE retry=: begins a response with its status code
		"body":   doBody,   // STREAM pieces= open, then lines: part of its body, in pieces of this many bytes; open omits the last line feed
		"end":    doEnd,    // STREAM MESSAGE: ends the response, normally if there is no message

		// The clock.
		"tick":  doTick,  // DURATION: lets time pass and runs everything that becomes due
		"clock": doClock, // DURATION: sets the engine's clock without passing time
		"wakes": doWakes, // prints the time of the engine's next tick

		// The program.
		"collection":       doCollection, // ID RESOURCE ns= labels= fields= restore= columns=NAME:KIND:PATH,... join=RESOURCE:NAME,... children=RESOURCE,...:NAME,... metadata-only rows-first
		"close-collection": doCloseCollection,
		"watch":            doWatch, // ID collection= ns= labels= fields= rv= match= initial= timeout= policy= credit= bookmarks bodies previous
		"grant":            doGrant, // ID EVENTS
		"close-watch":      doCloseWatch,
		"view":             doView,      // ID collection= ns= labels= fields= owned-by= recursive sort= offset= limit= anchor= before= facets= groups= aggregates=
		"hold-view":        doHoldView,  // ID: the program does not grant patches after the next one
		"grant-view":       doGrantView, // ID: the program applies patches again, and grants the next
		"move":             doMove,      // ID offset= limit= anchor= before=
		"close-view":       doCloseView,
		"get":              doGet,     // COLLECTION KEY
		"list":             doList,    // COLLECTION ns= labels= fields= rv= match= limit= continue= bodies
		"acquire":          doAcquire, // HANDLE RESOURCE KEY owner= on-demand
		"release-object":   doReleaseObject,
		"get-object":       doGetObject, // RESOURCE KEY
		"snapshot":         doSnapshot,  // NAME COLLECTION chunk= stepwise: takes the snapshot with this name, or the changes since the last one
		"chunk":            doChunk,     // NAME stop: requests the next chunk, or ends the snapshot
		"damage":           doDamage,    // NAME HOW: damages the stored snapshot
		"attach":           doAttach,    // READER allow=RESOURCE@NAMESPACE,... room= progress= subscriptions= saved: the engine serves a reader
		"reader":           doReader,    // READER hello | subscribe ID RESOURCE ns= labels= fields= rv= cluster= columns= cells metadata-only | unsubscribe ID | garbage HEX
		"room":             doRoom,      // READER BYTES: the connection of the reader has room for this many more bytes
		"save":             doSave,      // READER: saves the session, so that it can be attached again transparently
		"detach":           doDetach,    // READER
		"inspect":          doInspect,
		"reconnect":        doReconnect,   // immediately, without waiting for the back-off
		"step-garbage":     doStepGarbage, // HEX: the program passes these bytes to the engine
	}
}

func verbNames() []string { return slices.Sorted(maps.Keys(verbs)) }
