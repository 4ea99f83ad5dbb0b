package check

import (
	"slices"
	"strconv"
	"strings"

	"github.com/watchglass/watchglass/core/api"
)

// Filter contains the selectors of a request.
type Filter struct {
	Namespace string
	Labels    string
	Fields    string
}

// Everything reports whether the filter matches all objects.
func (f Filter) Everything() bool { return f == Filter{} }

// Match reports whether a version matches. A nil object never matches.
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
		if !matchField(term, key, o.Fields) {
			return false
		}
	}
	return true
}

// terms splits a selector at the commas outside of parentheses.
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
				list = append(list, strings.TrimSpace(selector[start:i]))
			}
			start = i + 1
		}
	}
	return list
}

func matchLabel(term string, labels map[string]string) bool {
	if head, set, ok := strings.Cut(term, "("); ok {
		words := strings.Fields(head)
		if len(words) != 2 || words[1] != "in" && words[1] != "notin" {
			return false
		}
		value, there := labels[words[0]]
		listed := slices.Contains(values(set), value)
		if words[1] == "notin" {
			return !there || !listed
		}
		return there && listed
	}
	if key, want, ok := cut(term, "!="); ok {
		value, there := labels[key]
		return !there || value != want
	}
	for _, equals := range []string{"==", "="} {
		if key, want, ok := cut(term, equals); ok {
			value, there := labels[key]
			return there && value == want
		}
	}
	for _, order := range []string{"<", ">"} {
		if key, than, ok := cut(term, order); ok {
			return inOrder(labels[key], order, than)
		}
	}
	if key, ok := strings.CutPrefix(term, "!"); ok {
		_, there := labels[strings.TrimSpace(key)]
		return !there
	}
	_, there := labels[term]
	return there
}

func cut(term, operator string) (name, value string, ok bool) {
	name, value, ok = strings.Cut(term, operator)
	return strings.TrimSpace(name), strings.TrimSpace(value), ok
}

func inOrder(value, order, than string) bool {
	a, err := strconv.ParseInt(value, 10, 64)
	b, bad := strconv.ParseInt(than, 10, 64)
	return err == nil && bad == nil && (order == "<" && a < b || order == ">" && a > b)
}

func values(set string) []string {
	list := strings.Split(strings.TrimRight(set, ") "), ",")
	for i := range list {
		list[i] = strings.TrimSpace(list[i])
	}
	return list
}

// matchField reports whether an object matches a term of a field selector. It derives
// metadata.name and metadata.namespace from the key.
func matchField(term string, key api.Key, fields map[string]string) bool {
	value := func(name string) string {
		switch name {
		case "metadata.name":
			return key.Name()
		case "metadata.namespace":
			return key.Namespace()
		}
		return fields[name]
	}
	if name, want, ok := cut(term, "!="); ok {
		return value(name) != want
	}
	name, want, ok := cut(term, "==")
	if !ok {
		name, want, _ = cut(term, "=")
	}
	return value(name) == want
}
