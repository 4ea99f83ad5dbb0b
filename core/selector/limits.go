package selector

import "github.com/watchglass/watchglass/core/api"

// These constants name the exceeded limit in the Cause of an error.
const (
	LimitBytes        = "max-selector-bytes"
	LimitRequirements = "max-selector-requirements"
	LimitValues       = "max-selector-values"
)

// Limits restricts the selectors of one request. A value of zero means no limit.
type Limits struct {
	// Bytes limits the total length of both selector texts.
	Bytes int
	// Requirements limits the number of label requirements and field terms.
	Requirements int
	// Values limits the number of values in all label requirements.
	Values int
}

// Selection is the label selector and the field selector of one request. The zero
// value selects everything. Selection is immutable and safe to copy.
type Selection struct {
	Labels Labels
	Fields Fields
}

// Parse parses the two selectors of a request. It rejects text above the Bytes limit
// before parsing. The error is a 413 for an exceeded limit and a 400 for a syntax error.
func (l Limits) Parse(labels, fields string) (Selection, *api.Status) {
	if exceeds(len(labels)+len(fields), l.Bytes) {
		return Selection{}, tooLarge("the label and field selectors are too long", LimitBytes)
	}
	var s Selection
	var err error
	if s.Labels, err = ParseLabels(labels); err != nil {
		return Selection{}, statusOf(err)
	}
	if s.Fields, err = ParseFields(fields); err != nil {
		return Selection{}, statusOf(err)
	}
	switch {
	case exceeds(len(s.Labels.requirements)+len(s.Fields.terms), l.Requirements):
		return Selection{}, tooLarge("the label and field selectors have too many requirements", LimitRequirements)
	case exceeds(s.Labels.values(), l.Values):
		return Selection{}, tooLarge("the label selector has too many values", LimitValues)
	}
	return s, nil
}

// Cost estimates the memory and time that the selectors take: the number of field terms
// plus, for each label requirement, the number of values but at least one.
func (s Selection) Cost() int {
	cost := len(s.Fields.terms)
	for i := range s.Labels.requirements {
		cost += max(1, len(s.Labels.requirements[i].values))
	}
	return cost
}

func (l Labels) values() int {
	n := 0
	for i := range l.requirements {
		n += len(l.requirements[i].values)
	}
	return n
}

func exceeds(n, limit int) bool { return limit > 0 && n > limit }

func tooLarge(message, limit string) *api.Status {
	return api.LimitReached(api.CodeTooLarge, limit, message)
}

func statusOf(err error) *api.Status {
	if s, ok := err.(*SyntaxError); ok {
		return s.Status()
	}
	return api.AsStatus(err)
}
