// Package objectjson converts the JSON of a Kubernetes object to an [api.Object]. The
// engine selects, sorts and dispatches objects by their envelopes, and does not read
// their bodies.
//
// A connector scans each change to an object once. If a browser reads a Kubernetes API
// without a connector, the module scans the changes. The package decodes only the values
// that the schema selects. Suggested reading order:
//
//   - [NewScanner] compiles a schema to a tree of selected paths (plan.go, path.go).
//     [Scanner.Scan] walks the bytes once, guided by that tree (scan.go). It records the
//     offsets of selected values, and validates and skips the rest (json.go).
//   - After the walk, the captured values become labels, fields and typed cells
//     (assemble.go, column.go, date.go, text.go).
//   - During the walk, the scanner cuts the data that the body omits (body.go).
//     [SetResourceVersion] does the reverse: it adds the version to a body.
//   - [SyntaxError] contains the position of an error (error.go).
//
// # Column paths
//
// A column's Path uses the subset of JSONPath that selects values without computation:
//
//	.spec.nodeName                       members; the first dot is optional
//	.metadata.labels['example.com/app']  a member by quoted name, ' or "
//	.metadata.labels.example\.com/app    the same, as kubectl writes it
//	.spec.containers[0].image            an element by its position from zero
//	.spec.containers[*].image            every element of an array
//
// In quotes, a backslash escapes a quote or a backslash. NewScanner rejects filters,
// slices, unions, recursive descent, negative positions and wildcards over members. The
// error contains the offset.
//
// A path with [*] may have any number of results. Results that do not fit the kind of the
// column are ignored. The other results are combined into one cell:
//
//	Integer  the sum. Results are numbers without fraction or exponent; a
//	         result or a sum beyond 64 bits makes the cell Null, because a
//	         wrong sum is worse than none
//	Number   the sum of all numbers, Null if it is not finite
//	String   the texts joined by ",". A number or a bool counts as its text,
//	         which fields of type IntOrString need
//	Bool     the first
//	Date     the first RFC 3339 timestamp, as milliseconds since the epoch
//
// A path without results yields Null. A schema's Fields are member names joined by dots.
// The value of a field is the text of a string, number or bool, and "" for other types.
// The value of a label is the text of a string, and "" for other types.
//
// # Omitted data
//
// The body omits:
//
//   - metadata.resourceVersion, always. The version is stored beside the body, so that
//     bodies with the same content have the same bytes.
//   - metadata.managedFields, unless [Options] keep it. This member is a third of a
//     typical pod's bytes, and readers of a watch do not need it.
//   - the annotation kubectl.kubernetes.io/last-applied-configuration, unless kept,
//     because it repeats the object. If the annotations become empty, the body keeps an
//     empty object.
//   - data and stringData of a Secret, unless kept. The members are removed completely,
//     because an empty value could be mistaken for the secret. The last-applied
//     annotation contains the same data, so it is always removed with data and
//     stringData. Columns and fields cannot read any of this secret data, but printers
//     may count its members (see [Printer]).
//
// All other bytes are unchanged, except for whitespace around the document, which is
// removed.
//
// # Accepted input
//
// The package accepts exactly the JSON that encoding/json accepts, nested no deeper than
// 256 levels. It interprets the two ambiguous cases as encoding/json does. If members
// have the same name, it uses the last one and ignores the others with their contents.
// Invalid UTF-8 in a string, or an unpaired surrogate, becomes U+FFFD in the envelope;
// the body keeps its bytes. Member names are compared after decoding, so escapes in a
// name cannot bypass the rules above.
//
// An object needs a metadata.name. Neither the name nor the namespace may contain a
// slash, because [api.Key] uses a slash as separator and two objects must not share a
// key.
package objectjson
