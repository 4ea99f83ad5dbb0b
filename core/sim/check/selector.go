package check

import (
	"slices"
	"strings"

	"github.com/watchglass/watchglass/core/api"
)

// Filter is what a request narrows a resource by.
type Filter struct {
	Namespace string
	Labels    string
	Fields    string
}

// Everything reports that nothing is left out.
func (f Filter) Everything() bool { return f == Filter{} }

// Match decides about one version; no object never matches.
func (f Filter) Match(key api.Key, o *Object) bool {
	if o == nil || f.Namespace != "" && key.Namespace() != f.Namespace {
		return false
	}
	for _, term := range terms(f.Labels) {
		if !matchLabel(term, o.Labels) {
			return false
		}
	}
	for _, term := range terms(f.Fields) {
		if !matchField(term, o.Fields) {
			return false
		}
	}
	return true
}

// terms splits at the commas outside of parentheses.
func terms(selector string) []string {
	var list []string
	depth, start := 0, 0
	for i, c := range selector + "," {
		switch {
		case c == '(':
			depth++
		case c == ')':
			depth--
		case c == ',' && depth == 0:
			if i > start {
				list = append(list, selector[start:i])
			}
			start = i + 1
		}
	}
	return list
}

func matchLabel(term string, labels map[string]string) bool {
	if key, set, ok := strings.Cut(term, " notin "); ok {
		value, there := labels[key]
		return !there || !slices.Contains(values(set), value)
	}
	if key, set, ok := strings.Cut(term, " in "); ok {
		value, there := labels[key]
		return there && slices.Contains(values(set), value)
	}
	if key, want, ok := strings.Cut(term, "!="); ok {
		value, there := labels[key]
		return !there || value != want
	}
	if key, want, ok := strings.Cut(term, "="); ok {
		value, there := labels[key]
		return there && value == want
	}
	if key, ok := strings.CutPrefix(term, "!"); ok {
		_, there := labels[key]
		return !there
	}
	_, there := labels[term]
	return there
}

func values(set string) []string { return strings.Split(strings.Trim(set, "()"), ",") }

func matchField(term string, fields map[string]string) bool {
	if name, want, ok := strings.Cut(term, "!="); ok {
		return fields[name] != want
	}
	name, want, _ := strings.Cut(term, "=")
	return fields[name] == want
}
