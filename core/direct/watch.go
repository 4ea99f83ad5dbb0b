package direct

import (
	"strconv"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/envelope"
	"github.com/watchglass/watchglass/core/wire"
)

const (
	// usualWatch is how many seconds a watch lasts: its bookmark and its end are
	// the progress that a reader wants to hear of every ten.
	usualWatch = 9
	// shortWatch is the first one after a cut, which soon says that nothing is
	// missing: it is just long enough for a bookmark (rules W19, W20).
	shortWatch = 4
	// veryShort is how soon a watch may end without a single event before that
	// is taken for a failure (rule R8).
	veryShort = 1000
)

// Period is how often there is progress, in milliseconds.
const Period = 10_000

// watch asks for what comes after f.at, and beside it how far the server is.
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

// askNewest asks for a list of one: its version is the newest there is.
func (f *Feed) askNewest(what about) request {
	q := f.collection()
	q.set("limit", "1")
	f.newestItems = items{}
	return request{about: what, stream: f.cfg.Fetch(q.b.String())}
}

// newestVersion is the answer to that, or zero when it is none.
func (f *Feed) newestVersion() api.ResourceVersion {
	rv, err := api.ParseResourceVersion(f.newestItems.version)
	if err != nil || !f.newestItems.end() {
		return 0
	}
	return rv
}

// event takes one document of a watch.
func (f *Feed) event(document []byte, careful bool) error {
	kind, object, ok := envelope.PlainEvent(document)
	if careful || !ok {
		var err error
		if kind, object, err = envelope.Event(document); err != nil {
			return f.refuse(err, careful)
		}
	}
	take := f.changed
	if f.request.about == initialEvents {
		take = f.initial
	}
	return f.refuse(take(kind, object), careful)
}

// refuse gives a line that was taken for a document another chance.
func (f *Feed) refuse(err error, careful bool) error {
	if _, ok := err.(*envelope.SyntaxError); !ok {
		return err
	}
	if !careful {
		return errNotPlain
	}
	return asBroken(err)
}

// changed takes one event of a watch that goes on (rules R6, R7).
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

// change takes one change. One that is older than what was handed over is a
// repetition, or comes from a server that has gone back. One of the same version
// is of the same transaction: kube-apiserver has none of several objects, others
// that speak its language do. So a version counts as whole when another follows.
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

// progress says how far the feed is, if the server has said how far it is and the
// feed has got there. Changes by themselves are no progress: they may be from long
// ago. Nor is the orderly end of a watch that did not get that far: the server that
// had no more to send may be cut off from its storage, and another have said how far
// it is. What was said to be there is whole when something newer has come: of a
// version more may follow.
func (f *Feed) progress() error {
	if f.at > f.target {
		f.whole = max(f.whole, f.target)
	}
	switch {
	case f.unconfirmed:
		return nil
	case !f.sure || f.at < f.target:
		// It is no progress, and yet what to resume from.
		return f.reflector.Changes(&wire.Events{ResourceVersion: f.whole}, 0)
	}
	f.failing = 0
	return f.reflector.Progress(&wire.Progress{ResourceVersion: f.whole})
}

// watched is the orderly end of a watch: everything that this server had was sent.
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
		// Who hears of the end that late may have slept while the cluster was
		// replaced by another, without a request that failed.
		f.unconfirmed = f.unconfirmed || f.now-f.begun > Period
		f.watch(usualWatch)
	}
}

// probed takes the server's word for how far it is.
func (f *Feed) probed() {
	rv := f.newestVersion()
	switch {
	case rv == 0:
		f.fail(&f.probe, broken("it is no list with a resourceVersion"))
		return
	case rv < f.asked:
		f.end(&api.Status{
			Code: 504, Reason: api.ReasonTimeout, Cause: "ResourceVersionTooLarge",
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
