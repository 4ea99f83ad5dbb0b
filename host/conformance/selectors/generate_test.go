package selectors

import (
	"math/rand"
	"strings"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
)

// source generates random texts and sets. It uses few different words, so that selectors
// and sets often contain the same keys.
type source struct{ *rand.Rand }

func newSource(seed int64) source { return source{rand.New(rand.NewSource(seed))} }

func (s source) oneIn(n int) bool { return s.Intn(n) == 0 }

func (s source) pick(words []string) string { return words[s.Intn(len(words))] }

var (
	blanks  = []string{" ", "\t", "\n", "\r", "  ", " ", "\x00", "\v"}
	keys    = []string{"a", "b", "in", "notin", "A", "x.y/a", "a1", "k8s.io/a-b", "0"}
	badKeys = []string{
		"/a", "a/", "a/b/c", "-a", "a-", "X/a", "a..b/c", "a_b/c", "é", ".", "_", "a.-b/c", "a-.b/c",
		strings.Repeat("k", 63), strings.Repeat("k", 64), strings.Repeat("p", 253) + "/k",
		strings.Repeat("p", 254) + "/k", strings.Repeat("p.", 126) + "p/k", "a\x7f", `a\`, `"a"`, "a\v", "a\xff",
	}
	values = []string{
		"", "", "a", "b", "1", "2", "01", "-1", "+1", "in", "notin", "9223372036854775807", "9223372036854775808",
		"x_y.z", "a-", strings.Repeat("v", 63), strings.Repeat("v", 64), "1_0", "0x1", "1e3", "é",
	}
	// labelValues are values of labels in label sets, which neither implementation validates.
	labelValues = []string{"", "a", "b", "1", "2", "3", "-1", "+1", "01", "in", "notin", "x_y.z", "9223372036854775807", "1.5", " 1"}
	operators   = []string{"=", "==", "!=", ">", "<", " in ", " notin ", "", "!"}
)

const labelBytes = "=!(),>< \t\r\nab1in\x00-./_\xffé"

func (s source) blank() string {
	if !s.oneIn(6) {
		return ""
	}
	return s.pick(blanks)
}

func (s source) key() string {
	if s.oneIn(25) {
		return s.pick(badKeys)
	}
	return s.pick(keys)
}

// labelText returns a text that mostly follows the grammar of label selectors.
func (s source) labelText() string {
	n := s.Intn(4)
	if s.oneIn(50) {
		n = s.Intn(12)
	}
	requirements := make([]string, n)
	for i := range requirements {
		requirements[i] = s.blank() + s.requirement() + s.blank()
	}
	return strings.Join(requirements, ",")
}

func (s source) requirement() string {
	switch op := s.pick(operators); op {
	case "":
		return s.key()
	case "!":
		return "!" + s.blank() + s.key()
	case " in ", " notin ":
		set := make([]string, s.Intn(4))
		for i := range set {
			set[i] = s.blank() + s.pick(values) + s.blank()
		}
		return s.key() + s.blank() + op + s.blank() + "(" + strings.Join(set, ",") + ")"
	default:
		return s.key() + s.blank() + op + s.blank() + s.pick(values)
	}
}

// longLabelText returns a selector with more requirements than the library sorts stably.
func (s source) longLabelText() string {
	words := []string{"a!=2", "a!=3", "a", "a=1", "b notin (x,2)", "b!=3", "in in (1,2)", "in", "in>0", "in<3", "in!=3"}
	requirements := make([]string, 13+s.Intn(20))
	for i := range requirements {
		requirements[i] = s.pick(words)
	}
	return strings.Join(requirements, ",")
}

var (
	fieldNames  = []string{"metadata.name", "a", "b", "a!", "", " a", `a\,b`, "c "}
	fieldValues = []string{
		"", "x", "y", `\,`, `\=`, `\\`, "=", "!x", "a b", `\x`, `\`, `x\=y`, "\xff", "é", "\xff\\,",
	}
	objectFields = []string{"", "x", "y", ",", "=", `\`, "!x", "a b", "x=y", "\xff", "é", "\ufffd,"}
)

const fieldBytes = "=!,\\ab \xffé\x00"

// fieldText returns a text that mostly follows the grammar of field selectors.
func (s source) fieldText() string {
	terms := make([]string, s.Intn(5))
	for i := range terms {
		if s.oneIn(12) {
			continue
		}
		terms[i] = s.pick(fieldNames) + s.pick([]string{"=", "==", "!=", "=", "!="}) + s.pick(fieldValues)
		if s.oneIn(5) {
			terms[i] += s.pick(fieldValues)
		}
	}
	return strings.Join(terms, ",")
}

// mutate returns the text after at most two random insertions, deletions or replacements
// of one byte.
func (s source) mutate(text, alphabet string) string {
	for range s.Intn(3) {
		i := s.Intn(len(text) + 1)
		end := min(i+s.Intn(2), len(text))
		insert := ""
		if !s.oneIn(3) {
			insert = string(alphabet[s.Intn(len(alphabet))])
		}
		text = text[:i] + insert + text[end:]
	}
	return text
}

func (s source) noise(alphabet string) string {
	b := make([]byte, s.Intn(14))
	for i := range b {
		b[i] = alphabet[s.Intn(len(alphabet))]
	}
	return string(b)
}

// labelSet returns a label set that often matches a selector's requirements.
func (s source) labelSet(requirements labels.Requirements) labels.Set {
	set := labels.Set{}
	for range s.Intn(4) {
		set[s.pick(keys)] = s.pick(labelValues)
	}
	for _, r := range requirements {
		switch wanted := r.Values().List(); {
		case r.Operator() == selection.DoesNotExist:
			if !s.oneIn(4) {
				delete(set, r.Key())
			}
		case r.Operator() == selection.NotEquals || r.Operator() == selection.NotIn || len(wanted) == 0 || s.oneIn(8):
			if _, ok := set[r.Key()]; !ok || s.oneIn(8) {
				set[r.Key()] = s.pick(append(labelValues, wanted...))
			}
		default:
			set[r.Key()] = s.pick(wanted)
		}
	}
	return set
}

// fieldSet is like labelSet, for fields.
func (s source) fieldSet(requirements fields.Requirements) fields.Set {
	set := fields.Set{}
	for range s.Intn(5) {
		set[s.pick(fieldNames)] = s.pick(objectFields)
	}
	for _, r := range requirements {
		if !s.oneIn(4) {
			set[r.Field] = r.Value
		}
	}
	return set
}

// everyString calls yield once for every string that consists of head and at most n
// tokens.
func everyString(head string, tokens []string, n int, yield func(string)) {
	yield(head)
	if n == 0 {
		return
	}
	for _, token := range tokens {
		everyString(head+token, tokens, n-1, yield)
	}
}
