package query

import (
	"strings"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/internal/lite"
	"github.com/watchglass/watchglass/core/wire"
)

// The limits of facets.
const (
	MaxFacets     = 16 // per query
	MaxAggregates = 8  // per facet
)

// The Causes of the errors for too many facets or aggregates.
const (
	LimitFacets     = "max-facets"
	LimitAggregates = "max-aggregates"
)

// Facet counts rows by the values of one or two operands, and aggregates numbers.
type Facet struct {
	By         []Operand
	Aggregates []Operand
	// ignored is the operand whose conditions the facet ignores, if ignores is set.
	ignored Operand
	ignores bool
}

// ParseFacets returns the requested facets with resolved names, or an error for an
// unknown name or too many facets. It copies the strings that it retains.
func ParseFacets(schema *api.Schema, requested []wire.Facet) ([]Facet, *api.Status) {
	if len(requested) > MaxFacets {
		return nil, api.LimitReached(api.CodeTooLarge, LimitFacets, "the query has more than 16 facets")
	}
	facets := make([]Facet, len(requested))
	for i := range requested {
		if status := facets[i].parse(schema, &requested[i]); status != nil {
			return nil, status
		}
	}
	return facets, nil
}

func (f *Facet) parse(schema *api.Schema, requested *wire.Facet) *api.Status {
	if len(requested.Aggregates) > MaxAggregates {
		return api.LimitReached(api.CodeTooLarge, LimitAggregates, "a facet has more than 8 aggregates")
	}
	by := []string{requested.By, requested.Then}
	if requested.Then == "" {
		by = by[:1]
	}
	var status *api.Status
	if f.By, status = resolveAll(schema, "count", by); status != nil {
		return status
	}
	f.ignored, f.ignores = f.By[0], len(by) == 1 && !requested.RowsOnly
	f.Aggregates, status = resolveAll(schema, "aggregate", requested.Aggregates)
	return status
}

func resolveAll(schema *api.Schema, verb string, names []string) ([]Operand, *api.Status) {
	operands := make([]Operand, len(names))
	for i, name := range names {
		var known bool
		if operands[i], known = Resolve(schema, strings.TrimSpace(lite.Clone(name))); !known {
			return nil, UnknownName(schema, verb, name)
		}
	}
	return operands, nil
}

// Split divides a condition into the parts that facets ignore, and the rest. The result
// own[i] contains the parts that facet i ignores, so that the facet also counts rows
// whose values the condition excludes. A facet counts the rows that match the condition
// "rest" and the parts that other facets ignore.
func (w Where) Split(facets []Facet) (rest Where, own []Where) {
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

// facet returns the index of the first facet that ignores the expression, or -1. A facet
// ignores an expression if all operands of the expression equal the facet's operand.
func (e *expression) facet(facets []Facet) int {
	for i := range facets {
		same := facets[i].ignores
		e.each(func(c *condition) { same = same && c.operand == facets[i].ignored })
		if same {
			return i
		}
	}
	return -1
}
