package selector

import (
	"strconv"

	"github.com/watchglass/watchglass/core/internal/lite"
)

const (
	maxName   = 63
	maxPrefix = 253
)

// The functions below return a description of the problem with a piece of text, or "" if
// the text is valid.

// keyProblem checks a label key: a name with an optional DNS prefix and a slash
// (LS6).
func keyProblem(key string) string {
	problem := ""
	if prefix, name, prefixed := lite.Cut(key, '/'); prefixed {
		problem = prefixProblem(prefix)
		if problem == "" {
			problem = nameProblem(name)
		}
	} else {
		problem = nameProblem(key)
	}
	if problem == "" {
		return ""
	}
	return "invalid label key " + quote(key) + ": " + problem
}

// valueProblem checks a label value, which must be empty or a valid name (LS7).
func valueProblem(value string) string {
	if value == "" {
		return ""
	}
	if problem := nameProblem(value); problem != "" {
		return "invalid label value " + quote(value) + ": " + problem
	}
	return ""
}

// operandProblem checks an operand of the given operator (LS7, LS8).
func operandProblem(op Operator, value string) string {
	if op == GreaterThan || op == LessThan {
		if _, ok := lite.ParseInt(value); !ok {
			return "operator " + string(op) + " needs a whole number of at most 64 bits, found " + quote(value)
		}
	}
	return valueProblem(value)
}

func nameProblem(name string) string {
	switch {
	case name == "":
		return "the name is empty"
	case len(name) > maxName:
		return "longer than " + strconv.Itoa(maxName) + " characters"
	case !isAlphanumeric(name[0]) || !isAlphanumeric(name[len(name)-1]):
		return "it must begin and end with a letter or a digit"
	}
	for i := range len(name) {
		if c := name[i]; !isAlphanumeric(c) && c != '-' && c != '_' && c != '.' {
			return `only letters, digits, "-", "_" and "." are allowed`
		}
	}
	return ""
}

// prefixProblem checks a DNS-1123 subdomain. As in Kubernetes, the parts between the dots
// have no length limit.
func prefixProblem(prefix string) string {
	if len(prefix) > maxPrefix {
		return "the prefix is longer than " + strconv.Itoa(maxPrefix) + " characters"
	}
	for more := true; more; {
		var part string
		if part, prefix, more = lite.Cut(prefix, '.'); !isDNSLabel(part) {
			return `the prefix must be lower-case letters, digits and "-" in parts joined by ".", ` +
				"each beginning and ending with a letter or a digit"
		}
	}
	return ""
}

func isDNSLabel(s string) bool {
	if s == "" || s[0] == '-' || s[len(s)-1] == '-' {
		return false
	}
	for i := range len(s) {
		if c := s[i]; !isLower(c) && !isDigit(c) && c != '-' {
			return false
		}
	}
	return true
}

func isAlphanumeric(c byte) bool { return isLower(c) || isDigit(c) || 'A' <= c && c <= 'Z' }
func isLower(c byte) bool        { return 'a' <= c && c <= 'z' }
func isDigit(c byte) bool        { return '0' <= c && c <= '9' }
