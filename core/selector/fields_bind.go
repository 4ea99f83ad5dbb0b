package selector

import (
	"slices"

	"github.com/watchglass/watchglass/core/api"
)

// nameField is the field that every kind of object has (FS9).
const nameField = "metadata.name"

// BoundFields is a field selector whose fields are positions in the list of a
// resource's declared fields. The zero value selects everything. It is immutable
// and safe to copy.
type BoundFields struct {
	terms []boundTerm
}

type boundTerm struct {
	index int
	fieldTerm
}

// Bind resolves the selector's fields to positions in names, the fields that a
// resource declares. A field not among them is an [*api.Status] 400 (FS9).
func (f Fields) Bind(names []string) (BoundFields, error) {
	if f.Empty() {
		return BoundFields{}, nil
	}
	bound := make([]boundTerm, len(f.terms))
	for i, t := range f.terms {
		index := slices.Index(names, t.field)
		if index < 0 {
			return BoundFields{}, unknownField(t.field, names)
		}
		bound[i] = boundTerm{index, t}
	}
	return BoundFields{bound}, nil
}

func unknownField(field string, names []string) *api.Status {
	return api.BadRequest("field selector: unknown field " + quote(field) +
		"; the fields to select by are " + api.Join(names, ", "))
}

// Matches reports whether every term holds; values returns an object's value of
// the i-th declared field, "" when it has none (FS5).
func (b BoundFields) Matches(values func(i int) string) bool {
	for i := range b.terms {
		if t := &b.terms[i]; !t.matches(values(t.index)) {
			return false
		}
	}
	return true
}

// EachExact calls yield for the terms that insist on a value: the field's
// position and the value. With them an index can be chosen; Matches decides.
func (b BoundFields) EachExact(yield func(field int, value string)) {
	for i := range b.terms {
		if t := &b.terms[i]; !t.negated {
			yield(t.index, t.value)
		}
	}
}

// Same reports whether two versions of an object are the same to the selector,
// given the cells that are the same in both.
func (b BoundFields) Same(unchanged api.Cells) bool {
	for i := range b.terms {
		if !unchanged.Has(api.FieldCell(b.terms[i].index)) {
			return false
		}
	}
	return true
}

// Empty reports whether the selector selects everything.
func (b BoundFields) Empty() bool { return len(b.terms) == 0 }

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
