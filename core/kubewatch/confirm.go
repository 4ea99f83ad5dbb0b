package kubewatch

import "github.com/watchglass/watchglass/core/api"

// maxHeld limits the data of a watch, in bytes, that is held back until the identity of
// the cluster is confirmed. Beyond this limit, a new list costs less.
const maxHeld = 16 << 20

// confirmCluster requests the identity of the cluster again after the start of a
// response. If the identity is unchanged, the response is from the same cluster. Until
// the identity is confirmed, the client holds back the data of the response, so that it
// never mixes data from two clusters. confirmCluster cancels a pending confirmation,
// because that request precedes the response.
//
//go:noinline
func (c *Client) confirmCluster() {
	c.drop(&c.confirm)
	c.fetchIdentity(&c.confirm, confirmation)
}

// confirmed handles the response to confirmCluster. If the cluster is unchanged, the
// client accepts the held data. Otherwise the run ends.
func (c *Client) confirmed(r *request) {
	name, err := c.readClusterID(r)
	switch {
	case err != nil:
		c.fail(r, api.AsStatus(err))
	case name != c.clusterID:
		c.End(api.Unavailable(c.cfg.Server + ": another cluster is now at this address; " + c.cfg.Resource.String() + " is listed again"))
	case c.phase == confirmingList:
		rv := c.listed
		c.listed = 0
		c.takeList(rv) // takeList starts a watch, which is confirmed again because it may reach a different cluster
	case c.request.Code == api.CodeOK:
		c.release()
	case c.request.Code == 0: // the watch has no response yet; see probed
		p := Progress{At: c.at, Complete: c.complete, Newest: c.newest}
		if err := c.cfg.Handler.Progress(p); err != nil {
			c.fail(&c.request, api.AsStatus(err))
		}
	}
}

// release processes the held data of a watch whose cluster has been confirmed.
func (c *Client) release() {
	stream, held, ended := c.request.stream, c.held, c.phase == confirmingEndedWatch
	c.phase, c.held = watching, nil
	c.Data(stream, held)
	if ended && c.Requested(stream) {
		c.Closed(stream, "")
	}
	if !c.Requested(stream) {
		return
	}
	if err := c.progress(false); err != nil {
		c.fail(&c.request, api.AsStatus(err))
	}
}
