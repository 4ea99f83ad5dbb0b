package kubewatch

import (
	"strconv"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/internal/lite"
	"github.com/watchglass/watchglass/core/objectjson"
	"github.com/watchglass/watchglass/core/wire"
)

// pageSize is the page size of client-go (rule R2).
const pageSize = 500

// listAnew relists to replace an older state. The end of the list promises that
// nothing is missing, so the list must not be older than the newest version now.
// A lagging server could otherwise send one that is merely not older than the
// last version seen.
func (f *Feed) listAnew() { f.request = f.askNewest(floor) }

// raiseFloor handles the response to listAnew.
func (f *Feed) raiseFloor() {
	rv := f.newestVersion()
	if rv == 0 {
		f.fail(&f.request, broken("it is no list with a resourceVersion"))
		return
	}
	f.floor = max(f.floor, rv)
	f.list()
}

// list requests the complete state.
func (f *Feed) list() {
	q := f.collection()
	if f.floor > 0 {
		q.set("resourceVersion", f.floor.String())
		q.set("resourceVersionMatch", "NotOlderThan")
	}
	if f.classic {
		f.items = items{}
		f.askPage(q)
		return
	}
	if f.floor == 0 {
		q.set("resourceVersionMatch", "NotOlderThan")
	}
	q.set("watch", "1")
	q.set("sendInitialEvents", "true")
	q.set("allowWatchBookmarks", "true")
	q.set("timeoutSeconds", "600") // enough for any state; the end mark comes earlier
	f.lines = splitter{rest: f.lines.rest[:0]}
	f.ask(initialEvents, q.b.String())
}

func (f *Feed) askPage(q *query) {
	if !f.unpaged {
		q.set("limit", strconv.Itoa(pageSize))
	}
	f.ask(page, q.b.String())
}

// beginList starts a new state.
func (f *Feed) beginList() {
	f.listing = true
	// Cannot fail: the reflector has just subscribed.
	_ = f.reflector.SnapshotBegin(&wire.SnapshotBegin{})
}

// listed processes an item of a list.
func (f *Feed) listed(raw []byte) error {
	o, err := f.read(raw)
	switch {
	case err != nil:
		return asBroken(err)
	case o.foreign:
		return broken("an item is of another kind than " + f.schema.Kind)
	}
	return f.reflector.Object(&o.put)
}

// listedPage requests the next page or ends the list.
func (f *Feed) listedPage() {
	l := &f.items
	switch {
	case !l.end():
		f.fail(&f.request, api.Unavailable("the server ended the list too early"))
	case l.next != "":
		q := f.collection()
		q.set("continue", l.next) // the token contains the version (rule P19)
		f.items = items{rest: l.rest[:0], next: l.next}
		f.askPage(q)
	default:
		f.unpaged = false
		rv, err := api.ParseResourceVersion(l.version)
		if err != nil {
			rv = 0
		}
		f.endList(rv)
	}
}

// endList checks and confirms a complete list.
func (f *Feed) endList(rv api.ResourceVersion) {
	switch {
	case rv == 0:
		f.fail(&f.request, broken("the list has no resourceVersion that can be watched from"))
		return
	case rv < f.floor:
		f.fail(&f.request, &api.Status{
			Code: api.CodeGatewayTimeout, Reason: api.ReasonTimeout, Cause: "ResourceVersionTooLarge",
			Message: "the server answers with the state at " + rv.String() + ", older than " + f.floor.String() +
				", which was seen before: it lags behind, or the cluster was restored from a backup",
		})
		return
	}
	if f.floor > 0 {
		f.drop(&f.request)
		f.state = rv
		f.askAgain()
		return
	}
	f.takeList(rv)
}

// takeList passes a complete list to the reflector and starts the first watch.
func (f *Feed) takeList(rv api.ResourceVersion) {
	if err := f.reflector.SnapshotEnd(&wire.SnapshotEnd{ResourceVersion: rv}); err != nil {
		f.fail(&f.request, api.AsStatus(err))
		return
	}
	f.listing, f.floor, f.items.rest, f.listedAt = false, 0, nil, f.now
	f.drop(&f.request)
	f.at, f.whole, f.failing = rv, rv, 0
	f.watch(usualWatch)
}

// initial processes one of the initial events (rule R4).
func (f *Feed) initial(kind string, object []byte) error {
	switch kind {
	case "ADDED":
		return f.listed(object)
	case "ERROR":
		return errorEvent(object)
	case "BOOKMARK":
		mark, err := readBookmark(object)
		if err == nil && mark.end {
			f.endList(mark.rv)
		}
		return err
	}
	return api.BadRequest("a " + kind + " event among the initial ones")
}

// bookmark is a BOOKMARK event (rules P8, W23).
type bookmark struct {
	rv  api.ResourceVersion
	end bool
}

func readBookmark(raw []byte) (bookmark, error) {
	d, err := objectjson.ParseDocument(raw)
	if err != nil {
		return bookmark{}, err
	}
	metadata := d.Member("metadata")
	rv, err := api.ParseResourceVersion(metadata.Member("resourceVersion").Text())
	if err != nil || rv == 0 {
		return bookmark{}, broken("a bookmark without a resourceVersion")
	}
	return bookmark{rv: rv, end: metadata.Member("annotations", "k8s.io/initial-events-end").Text() == "true"}, nil
}

// errorEvent returns the Status of an ERROR event (rules P6, R9).
func errorEvent(raw []byte) error {
	d, err := objectjson.ParseDocument(raw)
	if err != nil {
		return err
	}
	if s := statusOf(d); s.Code != 0 {
		return s
	}
	return broken("an error that is no Status: " + lite.Quote(beginning(raw)))
}
