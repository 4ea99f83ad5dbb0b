package kubewatch

import (
	"strconv"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/objectjson"
)

// veryShort is the duration, in milliseconds, below which a watch without events is a
// failure (rule R8).
const veryShort = 1000

// Period is the interval at which progress is expected, in milliseconds.
const Period = 10_000

// watch requests the changes after c.at. A roaming client requests the newest version of
// the server concurrently. Other clients request the newest version when the server has
// accepted the watch.
func (c *Client) watch(seconds int, p phase) {
	r := c.collection()
	r.set("watch", "1")
	r.set("resourceVersion", c.at.String())
	r.set("allowWatchBookmarks", "true")
	r.set("timeoutSeconds", strconv.Itoa(seconds))
	r.Timeout = int64(seconds)*1000 + c.cfg.Patience
	c.lines = splitter{rest: c.lines.rest[:0], careful: c.cfg.Validate}
	c.phase, c.events, c.begun, c.changed = p, 0, c.now, 0
	c.fetch(changes, r)

	c.drop(&c.confirm)
	c.drop(&c.probe)
	c.newest, c.probedAt = 0, c.at
	if c.cfg.Roaming {
		c.probeNewest()
	}
}

//go:noinline
func (c *Client) probeNewest() { c.fetchNewest(&c.probe, newest) }

// checkResume handles the newest version, which the client requests before a resumption.
// If the server has not reached c.at, it lags or never issued that version, and
// checkResume fails the request.
func (c *Client) checkResume() {
	rv := c.newestVersion()
	switch {
	case rv == 0:
		c.fail(&c.request, broken("expected a list with a resourceVersion"))
	case c.at > rv:
		status := c.behind(api.TooLargeResourceVersion(c.at, rv).Message + ": the server")
		status.RetryAfterSeconds = 1
		c.fail(&c.request, status)
	default:
		c.failing = 0
		c.watch(c.cfg.FirstWatchSeconds, watching)
	}
}

// event processes one document of a watch. If careful is false, event returns errNotPlain
// for a line that is not a complete event.
func (c *Client) event(document []byte, careful bool) error {
	take := c.watchEvent
	if c.request.purpose == initialEvents {
		take = c.initial
	}
	if !careful || c.cfg.Validate {
		// PlainEvent does not validate the object, but take does.
		if kind, object, ok := objectjson.PlainEvent(document); ok {
			if err := take(kind, object); !isSyntaxError(err) {
				return err
			} else if !careful {
				return errNotPlain
			}
		}
	}
	kind, object, err := objectjson.Event(document)
	if err == nil {
		err = take(kind, object)
	}
	switch {
	case !isSyntaxError(err):
		return err
	case !careful:
		return errNotPlain // the line is parsed again as part of a larger document
	}
	return asBroken(err)
}

func isSyntaxError(err error) bool {
	_, ok := err.(*objectjson.SyntaxError)
	return ok
}

// watchEvent processes one event of a watch (rules R6, R7).
func (c *Client) watchEvent(kind string, object []byte) error {
	c.events++
	switch kind {
	case "ADDED", "MODIFIED", "DELETED":
		return c.change(kind, object)
	case "BOOKMARK":
		mark, err := readBookmark(object)
		if err != nil {
			return err
		}
		c.at, c.complete = max(c.at, mark.rv), max(c.complete, mark.rv)
		return c.progress(false)
	case "ERROR":
		return errorEvent(object)
	}
	c.cfg.Handler.Skipped("event of type " + kind)
	return nil
}

// change processes one change. It skips a version older than c.at, which is a repetition
// or is from a server that went back in time. A change with version c.at is a repetition
// too, unless the previous change of this watch has that version. Compatible servers,
// unlike kube-apiserver, may change several objects in one transaction. A version is
// therefore complete only when a newer version follows.
func (c *Client) change(kind string, raw []byte) error {
	o, err := c.read(raw)
	switch {
	case err != nil:
		return err
	case o.foreign != "":
		c.cfg.Handler.Skipped("object of kind " + o.foreign)
		return nil
	}
	if err := o.Versioned(); err != nil {
		return err
	}
	rv := o.ResourceVersion
	switch {
	case rv < c.at || rv == c.at && rv != c.changed:
		return nil
	case rv > c.at:
		c.complete, c.failing = c.at, 0
		c.at, c.changed = rv, rv
	}
	if err := c.cfg.Handler.Change(o, kind == "DELETED"); err != nil {
		return err
	}
	return c.progress(true)
}

// progress reports the position. Changes alone do not prove that the position is current, because
// they may be old. The normal end of a watch is no proof either, unless the watch has reached the
// newest version. The watched server may be disconnected from its storage, while another server
// reports the newest version. The newest version is complete only when a newer version has
// arrived, because several objects may share a version.
func (c *Client) progress(changed bool) error {
	if c.at > c.newest {
		c.complete = max(c.complete, c.newest)
	}
	if c.phase != watching {
		return nil
	}
	p := Progress{At: c.at, Complete: c.complete, Newest: c.newest, Changed: changed}
	if p.Current() {
		c.failing = 0
	}
	return c.cfg.Handler.Progress(p)
}

// endWatch handles the normal end of a watch: it reports progress and starts the next
// watch (rules P9, P10). It fails the request if the watch ended inside an event, or
// immediately without one.
func (c *Client) endWatch() {
	r := &c.request
	switch {
	case !c.lines.end():
		c.fail(r, api.Unavailable("the server ended the watch in the middle of an event"))
	case c.events == 0 && c.now-c.begun < veryShort:
		c.fail(r, api.Unavailable("the server ended the watch immediately, without an event"))
	default:
		c.complete = c.at
		if err := c.progress(false); err != nil {
			c.fail(r, api.AsStatus(err))
			return
		}
		if c.newest != 0 && c.at < c.newest {
			c.cfg.Handler.Lagging(api.Unavailable(c.cfg.Server + ": the server that is watched for " + c.cfg.Resource.String() + " is at " +
				c.at.String() + ", and there is " + c.newest.String() + ": it lags behind"))
		}
		next := watching
		if c.cfg.Roaming && c.now-c.begun > Period {
			// If the end arrives this late, the machine may have been suspended while
			// a different cluster took over, without any failed request.
			next = confirmingWatch
		}
		c.watch(c.cfg.WatchSeconds, next)
	}
}

// probed handles the response with the newest version, which was requested concurrently
// with the watch.
func (c *Client) probed() {
	rv := c.newestVersion()
	switch {
	case rv == 0:
		c.fail(&c.probe, broken("expected a list with a resourceVersion"))
		return
	case rv < c.probedAt && c.cfg.Roaming:
		c.End(c.behind(c.cfg.Server + ": the server is at " + rv.String() + " and " + c.cfg.Resource.String() + " at " + c.probedAt.String() + ": it"))
		return
	}
	c.newest = rv
	if c.phase == confirmingWatch && c.request.Code == 0 && c.at >= rv {
		c.confirmCluster()
		return
	}
	if err := c.progress(false); err != nil {
		c.fail(&c.probe, api.AsStatus(err))
	}
}

// behind returns the error for a server whose newest version is older than a known
// version.
func (c *Client) behind(who string) *api.Status {
	return &api.Status{
		Code: api.CodeGatewayTimeout, Reason: api.ReasonTimeout, Cause: "ResourceVersionTooLarge",
		Message: who + " lags behind, or the cluster was restored from a backup" + c.cfg.Remedy,
	}
}
