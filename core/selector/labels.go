package selector

import (
	"slices"

	"github.com/watchglass/watchglass/core/api"
)

// Labels is a label selector: requirements that must all be met. The zero value
// selects everything. It is immutable and safe to copy.
type Labels struct {
	requirements []Requirement // sorted by key; equal keys in the order written
	nothing      bool
}

// Everything matches every label set. It is the zero Labels.
func Everything() Labels { return Labels{} }

// Nothing matches no label set. No text says so: it prints "", the text of
// Everything (LS12).
func Nothing() Labels { return Labels{nothing: true} }

// FromRequirements is the selector whose requirements must all be met.
func FromRequirements(requirements ...Requirement) Labels {
	return sorted(slices.Clone(requirements))
}

// FromSet requires every label of the set to have exactly its value. It checks
// nothing, so the result may hold keys and values, and print a text, that
// [ParseLabels] refuses (LS14).
func FromSet(set api.Labels) Labels {
	requirements := make([]Requirement, len(set))
	for i, label := range set {
		requirements[i] = makeRequirement(label.Key, Equals, []string{label.Value})
	}
	return sorted(requirements)
}

// FromValidatedSet is [FromSet] for a set that may be malformed: its error is
// an [*api.Status] 400.
func FromValidatedSet(set api.Labels) (Labels, error) {
	requirements := make([]Requirement, len(set))
	for i, label := range set {
		r, err := NewRequirement(label.Key, Equals, []string{label.Value})
		if err != nil {
			return Labels{}, err
		}
		requirements[i] = r
	}
	return sorted(requirements), nil
}

// sorted takes over requirements. The sort is stable, so that which requirement
// on a key comes first, and with it RequiresExactMatch, depends on the text
// alone.
func sorted(requirements []Requirement) Labels {
	api.Sort(requirements, func(a, b *Requirement) bool { return a.key < b.key })
	return Labels{requirements: requirements}
}

// Matches reports whether the label set meets every requirement.
func (l Labels) Matches(set api.Labels) bool {
	for i := range l.requirements {
		if !l.requirements[i].Matches(set) {
			return false
		}
	}
	return !l.nothing
}

// Empty reports whether the selector is Everything: it restricts nothing.
func (l Labels) Empty() bool { return len(l.requirements) == 0 && !l.nothing }

// String is the canonical text: parsing it gives the same selector again
// (LS10), except for Nothing (LS12) and for sets not validated (LS14).
func (l Labels) String() string {
	texts := make([]string, len(l.requirements))
	for i, r := range l.requirements {
		texts[i] = r.String()
	}
	return api.Join(texts, ",")
}

// RequiresExactMatch returns the one value a label must have for the selector
// to match, if the first requirement on the label says so (LS11). Use it to
// choose an index, then still ask Matches: "a=1,a=2" answers "1" and matches
// nothing.
func (l Labels) RequiresExactMatch(key string) (value string, ok bool) {
	for i := range l.requirements {
		if r := &l.requirements[i]; r.key == key {
			return r.exactValue()
		}
	}
	return "", false
}

func (r *Requirement) exactValue() (value string, ok bool) {
	switch r.op {
	case Equals, DoubleEquals, In:
		if len(r.values) == 1 {
			return r.values[0], true
		}
	}
	return "", false
}

// Requirements is a copy of the selector's requirements, sorted by key. It is
// not ok for Nothing, which no requirements express.
func (l Labels) Requirements() (requirements []Requirement, ok bool) {
	return slices.Clone(l.requirements), !l.nothing
}
