package kubewatch

import (
	"strconv"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/internal/lite"
	"github.com/watchglass/watchglass/core/objectjson"
)

// raiseFloor handles the newest version, which the client requests before a list that
// replaces an older state. The client reports progress at the end of the list, so the
// list must not be older than the newest version. Without this minimum, a lagging server
// could send a list that is only as new as the last known version.
func (c *Client) raiseFloor() {
	rv := c.newestVersion()
	if rv == 0 {
		c.fail(&c.request, broken("expected a list with a resourceVersion"))
		return
	}
	c.minimum = max(c.minimum, rv)
	c.list()
}

// list requests the complete state. A roaming client that replaces an older state has
// raised the minimum to the newest version, and accepts any list that is not older. Every
// other list is a consistent read (rule C36).
func (c *Client) list() {
	c.phase = requestingList
	r := c.collection()
	oldest := c.cfg.Roaming && c.minimum > 0
	if oldest {
		r.set("resourceVersion", c.minimum.String())
		r.set("resourceVersionMatch", "NotOlderThan")
	}
	if c.method != byInitialEvents {
		c.items = items{}
		c.fetchPage(r)
		return
	}
	if !oldest {
		r.set("resourceVersionMatch", "NotOlderThan") // sendInitialEvents requires this value (rule C11)
	}
	r.set("watch", "1")
	r.set("sendInitialEvents", "true")
	r.set("allowWatchBookmarks", "true")
	r.set("timeoutSeconds", strconv.Itoa(c.cfg.InitialSeconds)) // the end mark normally arrives earlier
	r.Idle = c.cfg.Patience
	c.lines = splitter{rest: c.lines.rest[:0], careful: c.cfg.Validate}
	c.fetch(initialEvents, r)
}

func (c *Client) fetchPage(r Request) {
	if c.method != inOnePage {
		r.set("limit", strconv.Itoa(c.cfg.PageSize))
	}
	r.Idle = c.cfg.Patience
	c.fetch(page, r)
}

// listInPages switches to paged lists after the server failed to send the initial events.
// It ends the run if the handler has received the start of a list and cannot restart it.
func (c *Client) listInPages(why *api.Status) {
	c.method = byPages
	if c.phase == requestingList || c.cfg.RestartsList {
		c.drop(&c.request)
		c.list()
		return
	}
	c.End(api.Unavailable(why.Message))
}

// beginList passes the start of a list to the handler.
func (c *Client) beginList() {
	c.phase = receivingList
	if err := c.cfg.Handler.BeginList(); err != nil {
		c.fail(&c.request, api.AsStatus(err))
	}
}

// listItem processes an item of a list.
func (c *Client) listItem(raw []byte) error {
	o, err := c.read(raw)
	switch {
	case err != nil:
		return asBroken(err)
	case o.foreign != "":
		return broken("an item is of another kind than " + c.schema.Kind)
	}
	return c.cfg.Handler.Object(o)
}

// endPage requests the next page or ends the list.
func (c *Client) endPage() {
	l := &c.items
	switch {
	case !l.end():
		c.fail(&c.request, api.Unavailable("the server ended the list too early"))
	case l.next != "":
		r := c.collection()
		r.set("continue", l.next) // the token contains the version (rule P19)
		c.items = items{rest: l.rest[:0], next: l.next}
		c.fetchPage(r)
	default:
		rv, err := api.ParseResourceVersion(l.version)
		if err != nil {
			rv = 0
		}
		c.endList(rv)
	}
}

// endList checks the version of a complete list. A roaming client confirms the cluster
// before it accepts a list that replaces an older state.
func (c *Client) endList(rv api.ResourceVersion) {
	switch {
	case rv == 0:
		c.fail(&c.request, broken("the list has no resourceVersion"))
	case rv < c.minimum:
		c.fail(&c.request, c.behind("the server returned the state at "+rv.String()+", older than "+c.minimum.String()+
			", which it returned before: the server"))
	case c.cfg.Roaming && c.minimum > 0:
		c.drop(&c.request)
		c.phase, c.listed = confirmingList, rv
		c.confirmCluster()
	default:
		c.takeList(rv)
	}
}

// takeList passes the end of a list to the handler and starts the first watch.
func (c *Client) takeList(rv api.ResourceVersion) {
	if err := c.cfg.Handler.EndList(rv); err != nil {
		c.fail(&c.request, api.AsStatus(err))
		return
	}
	c.minimum, c.items.rest = 0, nil
	if c.method == inOnePage {
		c.method = byPages
	}
	if c.cfg.ListsAtOnce {
		c.listedAt = c.now
	}
	c.drop(&c.request)
	c.at, c.complete, c.failing = rv, rv, 0
	first := watching
	if c.cfg.Roaming {
		first = confirmingWatch
	}
	c.watch(c.cfg.WatchSeconds, first)
}

// initial processes one of the initial events (rule R4).
func (c *Client) initial(kind string, object []byte) error {
	switch kind {
	case "ADDED":
		return c.listItem(object)
	case "ERROR":
		return errorEvent(object)
	case "BOOKMARK":
		mark, err := readBookmark(object)
		if err == nil && mark.end {
			c.endList(mark.rv)
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

// errorEvent returns the Status of an ERROR event as an error (rules P6, R9).
func errorEvent(raw []byte) error {
	d, err := objectjson.ParseDocument(raw)
	if err != nil {
		return err
	}
	if s := statusOf(d); s.Code != 0 {
		return s
	}
	return broken("an error that is not a Status: " + lite.Quote(beginning(raw)))
}
