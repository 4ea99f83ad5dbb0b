package session

import "github.com/watchglass/watchglass/core/api"

// State is how far one subscription has been sent, for people who look.
type State struct {
	Subscription    uint32
	Resource        api.Resource
	Namespace       string // empty for all
	MetadataOnly    bool
	Live            bool                // it has been sent the whole state
	ResourceVersion api.ResourceVersion // everything up to it was sent
	Requirements    int                 // of its selectors, see selector.Selection.Cost
	Evaluations     uint64              // of requirements and fields, for all changes so far
	Credit          int64               // bytes that the reader takes before it grants more; none holds it back
}

// States are those of the open subscriptions, in the order they were opened.
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
