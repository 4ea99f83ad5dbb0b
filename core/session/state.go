package session

import "github.com/watchglass/watchglass/core/api"

// State describes one subscription for inspection.
type State struct {
	Subscription    uint32
	Resource        api.Resource
	Namespace       string // "" means all
	MetadataOnly    bool
	Live            bool                // the complete state has been sent
	ResourceVersion api.ResourceVersion // all changes up to this version were sent
	Requirements    int                 // cost of its selectors, as defined by selector.Selection.Cost
	Evaluations     uint64              // evaluations of requirements and fields, for all changes so far
	Credit          int64               // bytes that the reader accepts before it grants more
}

// States returns the state of each open subscription, in the order in which they
// were opened.
func (s *Session) States() []State {
	states := make([]State, len(s.subs))
	for i, sub := range s.subs {
		states[i] = State{
			Subscription: sub.id, Resource: sub.resource, Namespace: sub.namespace, MetadataOnly: sub.metadataOnly,
			Live: sub.phase == live, ResourceVersion: sub.rv, Credit: sub.credit,
			Requirements: sub.cost, Evaluations: sub.filter.Evaluations(),
		}
	}
	return states
}
