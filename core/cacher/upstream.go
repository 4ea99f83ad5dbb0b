package cacher

import "github.com/watchglass/watchglass/core/api"

// Upstream contains the identity, the last progress and the failure of a cacher's
// source.
type Upstream struct {
	cacher     *Cacher
	clusterID  string
	listed     string // the cluster ID of the state
	progressed int64
	failure    *api.Status // why there has been no progress since the time progressed; nil if unknown
}

// SetSchema replaces the schema. The cacher must be empty.
func (u *Upstream) SetSchema(s api.Schema) { u.cacher.schema = s }

// ClusterID returns the ID of the history that the resource versions belong to, such as
// an etcd cluster, or "" if it is unknown.
func (u *Upstream) ClusterID() string { return u.clusterID }

// SetClusterID sets the ID of the history of the list that is about to be committed. A
// different ID means that resource versions are not comparable with earlier ones, so
// all watches end.
func (u *Upstream) SetClusterID(id string) {
	if id == u.clusterID {
		return
	}
	u.clusterID = id
	if c := u.cacher; c.ready {
		c.watches.Finish()
		c.watches.Fail(otherHistory(), nil)
	}
}

func otherHistory() *api.Status {
	return api.WatchEndHistoryLost.Expired("the resource versions of the collection now belong to a different history; list again")
}

// Progressed returns the time in milliseconds at which the source last confirmed that no
// change was missing. The resource version may have advanced since then.
func (u *Upstream) Progressed() int64 { return u.progressed }

// Fail records the reason why there is no progress. The next progress clears that
// reason.
//
//go:noinline
func (u *Upstream) Fail(status *api.Status) {
	u.failure = status
	u.cacher.followers.WakeAll()
}

// Failure returns the status given to Fail, or nil if there was progress after that
// call.
func (u *Upstream) Failure() *api.Status { return u.failure }
