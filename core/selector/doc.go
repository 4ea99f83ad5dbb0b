// Package selector parses, prints and evaluates Kubernetes label selectors and
// field selectors.
//
// # Labels
//
// [ParseLabels] reads "app=web,tier in (a,b),!canary" into a [Labels], an
// immutable value whose zero value selects everything. It answers three
// questions: does this label set match ([Labels.Matches]), what is your
// canonical text ([Labels.String]), and which value do you insist on for this
// key, so that an index can be used ([Labels.RequiresExactMatch]).
//
// Many objects share a label set, and a store interns them. A [Memo] uses
// that: it evaluates a selector once per distinct label set, not once per
// object.
//
// # Fields
//
// [ParseFields] reads "status.phase=Running,spec.nodeName!=n1" into a
// [Fields]. Objects carry their selectable fields as an array in the order that
// the resource declares, so a selector is bound to those names once
// ([Fields.Bind], where an unknown name is a 400) and from then on compares by
// position. A request for one named object and its selector are reconciled by
// [PinName].
//
// # Errors
//
// Text that does not parse gives a [*SyntaxError]: what was expected, what was
// found, and the byte offset, for a caret under a text box.
//
// # How it is built
//
// A label selector goes through a lexer (text to tokens), a parser (tokens to
// requirements) and a stable sort by key. Field selectors need no tokens: they
// are split at commas and each term at its operator.
//
// Both languages are those of Kubernetes to the last oddity (a NUL byte, a
// doubled comma in a value list), because the same text must be accepted, and
// mean the same, here and at a kube-apiserver. The rules are LS1-LS14 and
// FS1-FS10; every test is named after the rule it checks. Parsed selectors keep
// substrings of their text: a caller whose text is a borrowed buffer clones it
// first.
package selector
