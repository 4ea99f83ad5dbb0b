package query

import (
	"strings"

	"github.com/watchglass/watchglass/core/api"
)

// MaxFacets is the maximum number of facets of a query.
const MaxFacets = 16

// LimitFacets is the Cause of the error for too many facets.
const LimitFacets = "max-facets"

// ParseFacets resolves the names of facets.
func ParseFacets(schema *api.Schema, names []string) ([]Operand, *api.Status) {
	if len(names) > MaxFacets {
		return nil, api.LimitReached(413, LimitFacets, "the query has more than 16 facets")
	}
	facets := make([]Operand, len(names))
	for i, name := range names {
		var known bool
		if facets[i], known = Resolve(schema, strings.TrimSpace(name)); !known {
			return nil, UnknownName(schema, "count", name)
		}
	}
	return facets, nil
}

// Split divides a condition for facets. own[i] contains the parts that concern only
// facet i, and rest contains all other parts. A facet
// ignores its own part, so that its counts include the values that were not chosen.
func (w Where) Split(facets []Operand) (rest Where, own []Where) {
	own = make([]Where, len(facets))
	for _, term := range w.terms {
		if i := term.facet(facets); i >= 0 {
			own[i].terms = append(own[i].terms, term)
		} else {
			rest.terms = append(rest.terms, term)
		}
	}
	return rest, own
}

// facet returns the index of the first facet that is the only operand of the
// expression, or -1.
func (e *expression) facet(facets []Operand) int {
	for i := range facets {
		same := true
		e.each(func(c *condition) { same = same && c.operand == facets[i] })
		if same {
			return i
		}
	}
	return -1
}
