package selector

import (
	"slices"

	"github.com/watchglass/watchglass/core/api"
)

// nameField is the field that every kind of object has (FS9).
const nameField = "metadata.name"

// BoundFields is a field selector whose fields are positions in the list of a
// resource's declared fields, with one condition for each of them: what an object
// costs does not depend on the number of terms. The zero value selects everything.
// It is immutable and safe to copy.
type BoundFields struct {
	conditions []condition // in the order of the fields' first terms
}

// condition is what all terms on one field ask for together.
type condition struct {
	field int
	exact bool     // the value must be equal
	value string   // to this
	none  bool     // the terms contradict each other
	not   []string // if not exact, the value must be none of these; sorted
}

func (c *condition) add(t fieldTerm) {
	if t.negated {
		c.not = append(c.not, t.value)
		return
	}
	c.none = c.none || c.exact && c.value != t.value
	c.exact, c.value = true, t.value
}

// close is called after the last add.
func (c *condition) close() {
	api.SortStrings(c.not)
	if c.exact {
		c.none = c.none || c.excludes(c.value)
		c.not = nil
	}
	c.not = slices.Compact(c.not)
}

func (c *condition) excludes(value string) bool {
	if len(c.not) == 1 {
		return c.not[0] == value
	}
	_, found := slices.BinarySearch(c.not, value)
	return found
}

func (c *condition) matches(value string) bool {
	if c.exact {
		return value == c.value && !c.none
	}
	return !c.excludes(value)
}

// Bind resolves the selector's fields to positions in names, the fields that a
// resource declares. A field not among them is an [*api.Status] 400 (FS9).
func (f Fields) Bind(names []string) (BoundFields, error) {
	if f.Empty() {
		return BoundFields{}, nil
	}
	var bound BoundFields
	at := make([]int, len(names)) // by field: the number of its condition, plus one
	for _, t := range f.terms {
		field := slices.Index(names, t.field)
		if field < 0 {
			return BoundFields{}, unknownField(t.field, names)
		}
		if at[field] == 0 {
			bound.conditions = append(bound.conditions, condition{field: field})
			at[field] = len(bound.conditions)
		}
		bound.conditions[at[field]-1].add(t)
	}
	for i := range bound.conditions {
		bound.conditions[i].close()
	}
	return bound, nil
}

func unknownField(field string, names []string) *api.Status {
	return api.BadRequest("field selector: unknown field " + quote(field) +
		"; the fields to select by are " + api.Join(names, ", "))
}

// Matches reports whether every term holds; values returns an object's value of
// the i-th declared field, "" when it has none (FS5). It asks for the value of each
// field at most once.
func (b BoundFields) Matches(values func(i int) string) bool {
	for i := range b.conditions {
		if c := &b.conditions[i]; !c.matches(values(c.field)) {
			return false
		}
	}
	return true
}

// Len is how many fields the selector looks at.
func (b BoundFields) Len() int { return len(b.conditions) }

// EachExact calls yield for the fields that must have a value: the field's
// position and the value. With them an index can be chosen; Matches decides.
func (b BoundFields) EachExact(yield func(field int, value string)) {
	for i := range b.conditions {
		if c := &b.conditions[i]; c.exact {
			yield(c.field, c.value)
		}
	}
}

// Same reports whether two versions of an object are the same to the selector,
// given the cells that are the same in both.
func (b BoundFields) Same(unchanged api.Cells) bool {
	for i := range b.conditions {
		if !unchanged.Has(api.FieldCell(b.conditions[i].field)) {
			return false
		}
	}
	return true
}

// Empty reports whether the selector selects everything.
func (b BoundFields) Empty() bool { return len(b.conditions) == 0 }

// PinName reconciles a request for the one object called name, which is not
// empty, with the field selector it carries (FS10). An empty selector becomes
// metadata.name=name. Any other must ask for that name itself, else the request
// contradicts itself and the error is an [*api.Status] 400.
func PinName(f Fields, name string) (Fields, error) {
	if f.Empty() {
		return Fields{[]fieldTerm{{field: nameField, value: name}}}, nil
	}
	if pinned, ok := f.RequiresExactMatch(nameField); !ok || pinned != name {
		return Fields{}, api.BadRequest("field selector " + quote(f.String()) + ": the request is for the object named " +
			quote(name) + ", so the selector must contain " + quote(nameField+"="+EscapeValue(name)))
	}
	return f, nil
}
