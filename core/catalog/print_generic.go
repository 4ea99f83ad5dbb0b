package catalog

import (
	"github.com/watchglass/watchglass/core/internal/lite"
	"github.com/watchglass/watchglass/core/objectjson"
)

// The printers in this file compute cells for several resources from the values at the
// paths of the column.

// printCount prints the total number of members and elements of the values.
func printCount(v *objectjson.Values, out *objectjson.Cells) {
	n := 0
	for i := range v.Len() {
		n += v.Get(i).Len()
	}
	out.SetInt(0, n)
}

// printRatio prints two numbers as "1/2". A missing number is zero.
func printRatio(v *objectjson.Values, out *objectjson.Cells) {
	addNumber(out, v.Get(0))
	out.Add("/")
	addNumber(out, v.Get(1))
	out.SetText(0)
}

func addNumber(out *objectjson.Cells, number objectjson.Document) {
	if number.IsNull() {
		out.Add("0")
	}
	out.AddValue(number)
}

// addRatio adds two numbers as "1/2".
//
//go:noinline
func addRatio(out *objectjson.Cells, n, total int) {
	out.AddInt(n)
	out.Add("/")
	out.AddInt(total)
}

// pick returns the values of two members of an object. They are nil if missing.
//
//go:noinline
func pick(object objectjson.Document, a, b string) (objectjson.Document, objectjson.Document) {
	var parts [2]objectjson.Document
	object.Pick(parts[:], a, b)
	return parts[0], parts[1]
}

// printFirst prints the first value that exists.
func printFirst(v *objectjson.Values, out *objectjson.Cells) {
	for i := range v.Len() {
		if out.AddValue(v.Get(i)); !v.Get(i).IsNull() {
			break
		}
	}
	out.SetText(0)
}

// printFirstInteger prints the first value that exists, which must be an integer.
func printFirstInteger(v *objectjson.Values, out *objectjson.Cells) {
	for i := range v.Len() {
		if !v.Get(i).IsNull() {
			out.SetInt(0, v.Get(i).Int())
			return
		}
	}
}

// printFirstDate prints the first value that is a time.
func printFirstDate(v *objectjson.Values, out *objectjson.Cells) {
	for i := range v.Len() {
		if out.SetDate(0, v.Get(i)) {
			return
		}
	}
}

// printSlash joins values with slashes. It prints nothing if all values are missing.
func printSlash(v *objectjson.Values, out *objectjson.Cells) {
	found := false
	for i := range v.Len() {
		if i > 0 {
			out.Add("/")
		}
		out.AddValue(v.Get(i))
		found = found || !v.Get(i).IsNull()
	}
	if !found {
		out.Discard()
	}
	out.SetText(0)
}

// printTrimmed prints a text without surrounding white space.
func printTrimmed(v *objectjson.Values, out *objectjson.Cells) {
	addTrimmed(out, v.Get(0))
	out.SetText(0)
}

// addTrimmed adds the text of a value without surrounding white space.
func addTrimmed(out *objectjson.Cells, value objectjson.Document) {
	start := len(out.Text)
	out.AddValue(value)
	text := out.Text[start:]
	for len(text) > 0 && isSpace(text[len(text)-1]) {
		text = text[:len(text)-1]
	}
	skipped := 0
	for skipped < len(text) && isSpace(text[skipped]) {
		skipped++
	}
	out.Text = append(out.Text[:start], text[skipped:]...)
}

func isSpace(c byte) bool { return c == ' ' || '\t' <= c && c <= '\r' }

// printPhase prints a phase, or Terminating if the second value, the time of the
// deletion, exists.
func printPhase(v *objectjson.Values, out *objectjson.Cells) {
	if v.Get(1).IsNull() {
		out.AddValue(v.Get(0))
	} else {
		out.Add("Terminating")
	}
	out.SetText(0)
}

// printTitle prints a bool as True or False.
func printTitle(v *objectjson.Values, out *objectjson.Cells) {
	switch string(v.Get(0)) {
	case "true":
		out.Add("True")
	case "false":
		out.Add("False")
	}
	out.SetText(0)
}

// accessModes are the access modes of volumes with their abbreviations, in the order
// of printing.
var accessModes = [...]struct{ mode, short string }{
	{"ReadWriteOnce", "RWO"}, {"ReadOnlyMany", "ROX"}, {"ReadWriteMany", "RWX"}, {"ReadWriteOncePod", "RWOP"},
}

// printAccessModes prints abbreviated access modes. If the column has a second path, it
// prints nothing while the value at that path is missing or empty.
func printAccessModes(v *objectjson.Values, out *objectjson.Cells) {
	if v.Len() < 2 || len(v.Get(1)) > len(`""`) {
		for _, known := range accessModes {
			for _, mode := range v.All(0) {
				if mode.Is(known.mode) {
					addListed(out, known.short)
					break
				}
			}
		}
	}
	out.SetText(0)
}

// addListed adds a text, after a comma if it is not the first.
//
//go:noinline
func addListed(out *objectjson.Cells, text string) {
	if !out.Empty() {
		out.Add(",")
	}
	out.Add(text)
}

// printLabels prints a map such as "app=web,tier=front".
func printLabels(v *objectjson.Values, out *objectjson.Cells) {
	for _, entry := range sortedMap(v.Get(0)) {
		addListed(out, entry.key)
		out.Add("=")
		out.Add(entry.value)
	}
	out.SetText(0)
}

// entry is a member of a JSON object whose values are strings.
type entry struct{ key, value string }

// sortedMap returns the members of a JSON object whose values are strings, sorted by key.
// If several members have the same key, it returns the last one.
func sortedMap(d objectjson.Document) []entry {
	var entries []entry
	d.Members(func(name, value objectjson.Document) {
		key := name.Text()
		for i := range entries {
			if entries[i].key == key {
				entries[i].value = string(value.AppendText(nil))
				return
			}
		}
		entries = append(entries, entry{key, string(value.AppendText(nil))})
	})
	lite.Sort(entries, func(a, b *entry) bool { return a.key < b.key })
	return entries
}

// printSelector prints a LabelSelector such as "app=web,tier in (back,front),!old".
func printSelector(v *objectjson.Values, out *objectjson.Cells) {
	labels, expressions := pick(v.Get(0), "matchLabels", "matchExpressions")
	terms := sortedMap(labels)
	for i := range terms {
		terms[i].value = terms[i].key + "=" + terms[i].value
	}
	for _, expression := range expressions.Elements() {
		terms = append(terms, selectorTerm(expression))
	}
	lite.Sort(terms, func(a, b *entry) bool { return a.key < b.key })
	for _, term := range terms {
		addListed(out, term.value)
	}
	out.SetText(0)
}

// selectorTerm returns the key of a requirement, and its text in the notation of
// selectors.
func selectorTerm(expression objectjson.Document) entry {
	var parts [3]objectjson.Document
	expression.Pick(parts[:], "key", "operator", "values")
	key := parts[0].Text()
	var values []string
	for _, value := range parts[2].Elements() {
		values = append(values, value.Text())
	}
	lite.SortStrings(values)
	list := "(" + lite.Join(values, ",") + ")"
	switch parts[1].Text() {
	case "In":
		return entry{key, key + " in " + list}
	case "NotIn":
		return entry{key, key + " notin " + list}
	case "DoesNotExist":
		return entry{key, "!" + key}
	}
	return entry{key, key}
}
