package kubewatch

import (
	"strconv"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/objectjson"
	"github.com/watchglass/watchglass/core/wire"
)

const (
	// usualWatch is the duration of a watch in seconds. Its bookmark and its end
	// provide progress within the ten-second period.
	usualWatch = 9
	// shortWatch is the duration of the first watch after a disconnect, which
	// provides progress soon. It is long enough for a bookmark (rules W19, W20).
	shortWatch = 4
	// veryShort is the duration below which a watch without events counts as a
	// failure (rule R8).
	veryShort = 1000
)

// Period is the interval of progress in milliseconds.
const Period = 10_000

// watch requests the changes after f.at and, concurrently, the newest version of
// the server.
func (f *Feed) watch(seconds int) {
	q := f.collection()
	q.set("watch", "1")
	q.set("resourceVersion", f.at.String())
	q.set("allowWatchBookmarks", "true")
	q.set("timeoutSeconds", strconv.Itoa(seconds))
	f.lines = splitter{rest: f.lines.rest[:0]}
	f.events, f.begun = 0, f.now
	f.ask(changes, q.b.String())

	f.drop(&f.confirm)
	f.drop(&f.probe)
	f.sure, f.asked = false, f.at
	f.probe = f.askNewest(newest)
}

// askNewest requests a list with limit 1, whose version is the newest.
func (f *Feed) askNewest(what about) request {
	q := f.collection()
	q.set("limit", "1")
	f.newestItems = items{}
	return request{about: what, stream: f.cfg.Fetch(q.b.String())}
}

// newestVersion returns the version of that list, or zero if the response is
// invalid.
func (f *Feed) newestVersion() api.ResourceVersion {
	rv, err := api.ParseResourceVersion(f.newestItems.version)
	if err != nil || !f.newestItems.end() {
		return 0
	}
	return rv
}

// event processes one document of a watch.
func (f *Feed) event(document []byte, careful bool) error {
	kind, object, ok := objectjson.PlainEvent(document)
	if careful || !ok {
		var err error
		if kind, object, err = objectjson.Event(document); err != nil {
			return f.refuse(err, careful)
		}
	}
	take := f.changed
	if f.request.about == initialEvents {
		take = f.initial
	}
	return f.refuse(take(kind, object), careful)
}

// refuse converts a syntax error in a line to errNotPlain, so that the line is
// parsed again as part of a larger document.
func (f *Feed) refuse(err error, careful bool) error {
	if _, ok := err.(*objectjson.SyntaxError); !ok {
		return err
	}
	if !careful {
		return errNotPlain
	}
	return asBroken(err)
}

// changed processes one event of a watch (rules R6, R7).
func (f *Feed) changed(kind string, object []byte) error {
	f.events++
	switch kind {
	case "ADDED", "MODIFIED", "DELETED":
		return f.change(kind, object)
	case "BOOKMARK":
		mark, err := readBookmark(object)
		if err != nil {
			return err
		}
		f.at, f.whole = max(f.at, mark.rv), max(f.whole, mark.rv)
		return f.progress()
	case "ERROR":
		return errorEvent(object)
	}
	f.PassedOver++
	return nil
}

// change processes one change. An older version is a repetition, or is from a
// server that went back. An equal version is from the same transaction:
// kube-apiserver has none with several objects, but compatible servers do. A
// version therefore counts as complete when a newer one follows.
func (f *Feed) change(kind string, raw []byte) error {
	o, err := f.read(raw)
	switch {
	case err != nil:
		return err
	case o.foreign:
		f.PassedOver++
		return nil
	case o.put.ResourceVersion < f.at:
		return nil
	case o.put.ResourceVersion > f.at:
		f.whole, f.failing = f.at, 0
		f.at = o.put.ResourceVersion
	}
	if kind == "DELETED" {
		err = f.reflector.Removed(o.key, o.put.ResourceVersion)
	} else {
		err = f.reflector.Object(&o.put)
	}
	if err != nil {
		return err
	}
	return f.progress()
}

// progress reports progress if the server's newest version is known and reached.
// Changes alone are no progress, because they may be old. Neither is the normal
// end of a watch before that version: the watched server may be disconnected from
// its storage, and another server have reported the version. The newest version
// counts as complete when a newer one has arrived, because several objects may
// share it.
func (f *Feed) progress() error {
	if f.at > f.target {
		f.whole = max(f.whole, f.target)
	}
	switch {
	case f.unconfirmed:
		return nil
	case !f.sure || f.at < f.target:
		// This is no progress, but a version to resume from.
		return f.reflector.Changes(&wire.Events{ResourceVersion: f.whole}, 0)
	}
	f.failing = 0
	return f.reflector.Progress(&wire.Progress{ResourceVersion: f.whole})
}

// watched handles the normal end of a watch.
func (f *Feed) watched() {
	r := &f.request
	switch {
	case !f.lines.end():
		f.fail(r, api.Unavailable("the server ended the watch within an event"))
	case f.events == 0 && f.now-f.begun < veryShort:
		f.fail(r, api.Unavailable("the server ends the watch at once and without a word"))
	default:
		f.whole = f.at
		if err := f.progress(); err != nil {
			f.fail(r, api.AsStatus(err))
			return
		}
		if f.sure && f.at < f.target {
			f.reflector.Missed(api.Unavailable("Kubernetes: the server that is watched for " + f.cfg.Resource.String() + " is at " +
				f.at.String() + ", and there is " + f.target.String() + ": it lags behind"))
		}
		// If the end arrives this late, the machine may have been suspended while
		// a different cluster took over, without any failed request.
		f.unconfirmed = f.unconfirmed || f.now-f.begun > Period
		f.watch(usualWatch)
	}
}

// probed handles the response with the newest version.
func (f *Feed) probed() {
	rv := f.newestVersion()
	switch {
	case rv == 0:
		f.fail(&f.probe, broken("it is no list with a resourceVersion"))
		return
	case rv < f.asked:
		f.end(&api.Status{
			Code: api.CodeGatewayTimeout, Reason: api.ReasonTimeout, Cause: "ResourceVersionTooLarge",
			Message: "Kubernetes: the server is at " + rv.String() + " and " + f.cfg.Resource.String() + " at " + f.asked.String() +
				": it lags behind, or the cluster was restored from a backup",
		})
		return
	}
	f.sure, f.target = true, rv
	if err := f.progress(); err != nil {
		f.fail(&f.probe, api.AsStatus(err))
	}
}
