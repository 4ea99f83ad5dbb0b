package selector

import (
	"slices"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/internal/lite"
)

// nameField is a field of every resource (FS9).
const nameField = "metadata.name"

// BoundFields is a field selector with field names resolved to positions in the
// declared fields of a resource. It has one condition per field, so the cost per
// object does not depend on the number of terms. The zero value selects
// everything. BoundFields is immutable and safe to copy.
type BoundFields struct {
	conditions []condition // in the order of the fields' first terms
}

// condition is the conjunction of all terms on one field.
type condition struct {
	field int
	exact bool // the field must equal "value"
	value string
	none  bool     // the terms contradict each other
	not   []string // if exact is not set, the excluded values, sorted
}

func (c *condition) add(t fieldTerm) {
	if t.negated {
		c.not = append(c.not, t.value)
		return
	}
	c.none = c.none || c.exact && c.value != t.value
	c.exact, c.value = true, t.value
}

// close finishes the condition after the last call to add.
func (c *condition) close() {
	lite.SortStrings(c.not)
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

// Bind resolves the selector's fields to positions in names, the declared fields of a
// resource. The error for an undeclared field is an [*api.Status] 400 (FS9).
func (f Fields) Bind(names []string) (BoundFields, error) {
	if f.Empty() {
		return BoundFields{}, nil
	}
	var bound BoundFields
	at := make([]int, len(names)) // by field: 1 + the index of its condition
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
		"; supported fields: " + lite.Join(names, ", "))
}

// Matches reports whether every term holds. The function values returns an object's value
// of the i-th declared field, or "" if the object has no value (FS5). Matches calls
// values at most once per field.
func (b BoundFields) Matches(values func(i int) string) bool {
	for i := range b.conditions {
		if c := &b.conditions[i]; !c.matches(values(c.field)) {
			return false
		}
	}
	return true
}

// Len returns the number of fields that the selector reads.
func (b BoundFields) Len() int { return len(b.conditions) }

// EachExact yields the position and value of each field that must have one particular
// value. The results help to find candidates in an index; Matches must still check each
// candidate.
func (b BoundFields) EachExact(yield func(field int, value string)) {
	for i := range b.conditions {
		if c := &b.conditions[i]; c.exact {
			yield(c.field, c.value)
		}
	}
}

// Same reports whether the selector must give the same result for two versions of an
// object, given the cells that are equal in both.
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

// PinName combines a field selector with the object name of the request, which must not
// be empty (FS10). An empty selector becomes metadata.name=name. Any other selector must
// require the same name; otherwise PinName returns an [*api.Status] 400.
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
