package kubewatch

import "github.com/watchglass/watchglass/core/api"

// identityPath is the object whose uid identifies the cluster.
const identityPath = "/api/v1/namespaces/kube-system"

// maxHeld limits the data of a watch that waits for confirmation of the cluster's
// identity. Beyond it, a new list is cheaper.
const maxHeld = 16 << 20

func (r *request) identifies() bool { return r.about == identity || r.about == confirmation }

// askAgain requests the identity of the cluster again after the start of a
// response. If the identity is unchanged, the response is from the same cluster.
// Until then the data is held back, so that it is not added to the state of a
// different cluster.
func (f *Feed) askAgain() {
	f.confirm = request{about: confirmation, stream: f.cfg.Fetch(identityPath)}
}

// confirmed handles the response to askAgain.
func (f *Feed) confirmed(r *request) {
	name, err := f.named(r)
	switch {
	case err != nil:
		f.fail(r, api.AsStatus(err))
	case name != f.source:
		f.end(api.Unavailable("Kubernetes: another cluster has come to this address; " + f.cfg.Resource.String() + " is listed anew"))
	case f.state != 0:
		rv := f.state
		f.state = 0
		f.takeList(rv) // the following watch may still reach a different cluster
	default:
		f.release()
	}
}

// release processes the data that was held back.
func (f *Feed) release() {
	stream, held, ended := f.request.stream, f.held, f.ended
	f.unconfirmed, f.held, f.ended = false, nil, false
	f.Data(stream, held)
	if ended && f.Asks(stream) {
		f.Closed(stream, "")
	}
	if !f.Asks(stream) {
		return
	}
	if err := f.progress(); err != nil {
		f.fail(&f.request, api.AsStatus(err))
	}
}
