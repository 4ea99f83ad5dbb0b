// Package selector parses, prints and evaluates Kubernetes label selectors and
// field selectors.
//
// # Labels
//
// [ParseLabels] parses text such as "app=web,tier in (a,b),!canary" into a [Labels], an
// immutable value whose zero value selects everything. [Labels.Matches] evaluates the
// selector, [Labels.String] returns its canonical text, and [Labels.RequiresExactMatch]
// returns the value that the selector requires for a key, for lookups in an index.
//
// Many objects share a label set, and a store interns label sets. A [Memo] caches
// the result per interned set, so a selector is evaluated once per set and not
// once per object.
//
// # Fields
//
// [ParseFields] parses text such as "status.phase=Running,spec.nodeName!=n1" into a
// [Fields]. An object carries its selectable fields as an array in the order that the
// resource declares. [Fields.Bind] resolves field names to positions once and returns a
// 400 for an unknown name. [PinName] combines the field selector of a request with the
// object name of the request.
//
// # Errors
//
// A parse error is a [*SyntaxError]. It states the expected input, the input found, and
// the byte offset.
//
// # Implementation
//
// A label selector passes through a lexer, a parser and a stable sort by key. A
// field selector is split at commas, and each term at its operator.
//
// Both selector languages interpret text exactly as kube-apiserver does, including NUL bytes and
// doubled commas in value lists. The rules LS1 to LS14 and FS1 to FS10 of core/SEMANTICS.md
// describe both languages, and each test is named after the rule that it checks. Parsed selectors
// retain substrings of the text, so a caller that reuses the memory of the text must first copy
// the text.
package selector
