package direct

import "github.com/watchglass/watchglass/core/api"

// identityPath is what tells who the cluster is.
const identityPath = "/api/v1/namespaces/kube-system"

// maxHeld bounds what is kept of a watch whose cluster is not confirmed. When there
// is more, a new list takes less.
const maxHeld = 16 << 20

func (r *request) identifies() bool { return r.about == identity || r.about == confirmation }

// askAgain asks who the cluster is after an answer has come, or begun. If it is
// still the same, so was the one that the answer is of. What is held until then
// would otherwise be added to the state of another.
func (f *Feed) askAgain() {
	f.confirm = request{about: confirmation, stream: f.cfg.Fetch(identityPath)}
}

// confirmed takes the answer to that.
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
		f.takeList(rv) // the watch after it may yet go elsewhere
	default:
		f.release()
	}
}

// release hands on what was held of the watch.
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
