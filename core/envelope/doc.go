// Package envelope turns the JSON of a Kubernetes object into an [api.Object]:
// the envelope that the machinery selects, sorts and routes by, and the body
// that it only carries.
//
// It runs once per change of an object in the connector, and inside the guest
// when a browser talks to a Kubernetes API directly, so it decodes nothing that
// nobody asked for. A newcomer reads it in this order:
//
//   - [NewScanner] compiles a schema into a tree of wanted paths (plan.go,
//     path.go). [Scanner.Scan] walks the bytes once, steered by that tree
//     (scan.go): a wanted value is noted by its offsets, everything else is
//     checked and stepped over (json.go).
//   - When the walk is through, the notes are turned into labels, fields and
//     typed cells (assemble.go, column.go, date.go, text.go).
//   - What is left out of the body is cut while walking (body.go).
//     [SetResourceVersion] is the way back: it gives a body its version.
//   - [SyntaxError] says where the bytes went wrong (error.go).
//
// # Column paths
//
// A column's Path is the part of JSONPath that names values without computing:
//
//	.spec.nodeName                       members; the first dot may be left out
//	.metadata.labels['example.com/app']  a member by quoted name, ' or "
//	.metadata.labels.example\.com/app    the same, as kubectl writes it
//	.spec.containers[0].image            an element by its position from zero
//	.spec.containers[*].image            every element of an array
//
// In quotes, a backslash stands before a quote or a backslash. Filters, slices,
// unions, recursive descent, negative positions and wildcards over members are
// refused by NewScanner with the offset at which the path stops making sense.
//
// A path with [*] has any number of results. Those of another type than the
// column's do not count; from the others comes one cell:
//
//	Integer  the sum. Results are numbers without fraction or exponent; a
//	         result or a sum beyond 64 bits makes the cell Null, because a
//	         wrong sum is worse than none
//	Number   the sum of all numbers, Null when it is not finite
//	String   the texts joined by ",". A number or a bool counts as its text,
//	         which is what fields of type IntOrString need
//	Bool     the first
//	Date     the first RFC 3339 timestamp, as milliseconds since the epoch
//
// No result at all is Null. A schema's Fields are plain dotted members; their
// value is the text of a string, number or bool, and "" for everything else. A
// label's value is the text of a string, and "" for everything else.
//
// # What the body leaves out
//
//   - metadata.resourceVersion, always: the version of a body is that of the
//     event which carries it, and equal bodies should be equal bytes.
//   - metadata.managedFields, unless [Options] keep it: it is a third of a
//     typical pod's bytes, and no reader of a watch looks at it.
//   - the annotation kubectl.kubernetes.io/last-applied-configuration, unless
//     kept: it is the object once more. An annotations object that becomes
//     empty stays as {}.
//   - data and stringData of a Secret, unless kept. The members go as a whole:
//     an empty value could be mistaken for the secret, a missing member cannot.
//     The last-applied annotation of such a Secret contains the same data and
//     goes with it whatever the options say, and neither can be read through a
//     column or a field.
//
// All else is as it came, byte for byte, without the blanks around the document.
//
// # What is accepted
//
// Exactly the JSON that encoding/json accepts, nested no deeper than 256
// levels, and with its reading of the two doubtful cases: of members with the
// same name the last one counts, with everything below it; and what is not
// UTF-8 in a string, or is half a surrogate pair, reads as U+FFFD (in the
// envelope: the body keeps its bytes). Member names are compared as read, so
// no escape in a name slips past the list above.
//
// An object needs a metadata.name. Neither it nor the namespace may contain a
// slash: [api.Key] puts one between them, and two objects must not share a key.
package envelope
