package selector

import (
	"slices"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/internal/lite"
)

// Labels is a label selector: a conjunction of requirements. The zero value
// selects everything. Labels is immutable and safe to copy.
type Labels struct {
	requirements []Requirement // sorted by key; requirements on one key keep their order
	nothing      bool
}

// Everything returns the zero Labels, which matches every label set.
func Everything() Labels { return Labels{} }

// Nothing returns a selector that matches no label set. It has no text form and
// prints "", like Everything (LS12).
func Nothing() Labels { return Labels{nothing: true} }

// FromRequirements returns the conjunction of the requirements.
func FromRequirements(requirements ...Requirement) Labels {
	return sorted(slices.Clone(requirements))
}

// FromSet returns a selector that requires each label of the set. It does not
// validate the labels, so [ParseLabels] may reject the text of the result (LS14).
func FromSet(set api.Labels) Labels {
	requirements := make([]Requirement, len(set))
	for i, label := range set {
		requirements[i] = makeRequirement(label.Key, Equals, []string{label.Value})
	}
	return sorted(requirements)
}

// FromValidatedSet is like [FromSet] but returns an [*api.Status] 400 for an
// invalid label.
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

// sorted sorts requirements by key and takes ownership of the slice. The sort is stable,
// so that the first requirement on a key depends only on the text. RequiresExactMatch
// uses that requirement.
func sorted(requirements []Requirement) Labels {
	lite.Sort(requirements, func(a, b *Requirement) bool { return a.key < b.key })
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

// Empty reports whether the selector matches every label set.
func (l Labels) Empty() bool { return len(l.requirements) == 0 && !l.nothing }

// String returns the canonical text. Parsing this text gives the same selector (LS10),
// except for Nothing (LS12) and for sets that were not validated (LS14).
func (l Labels) String() string {
	texts := make([]string, len(l.requirements))
	for i, r := range l.requirements {
		texts[i] = r.String()
	}
	return lite.Join(texts, ",")
}

// RequiresExactMatch returns the value if the first requirement on the label allows only
// one value, and false otherwise (LS11). The result helps to find candidates in an index;
// Matches must still check each candidate. For example, "a=1,a=2" returns "1" but matches
// no label set.
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

// Requirements returns a copy of the requirements, sorted by key. ok is false for
// Nothing, which has no requirements.
func (l Labels) Requirements() (requirements []Requirement, ok bool) {
	return slices.Clone(l.requirements), !l.nothing
}
