package catalog

import "github.com/watchglass/watchglass/core/objectjson"

// The cell indexes of an EvictionRequest or an Eviction.
const (
	evictionTarget = iota
	evictionStatus
)

// evictionEnds are the conditions that determine the status. The last true one counts.
var evictionEnds = [...]string{"Failed", "TargetEvicted"}

// evictionPrinter prints the kind of the target and the status.
var evictionPrinter = objectjson.Printer{
	Paths: []string{".spec.target.pod", ".status.observedGeneration", ".status.conditions[*]"},
	Print: func(v *objectjson.Values, out *objectjson.Cells) {
		if !v.Get(0).IsNull() {
			out.Add("Pod")
		}
		out.SetText(evictionTarget)

		status := "Pending"
		if v.Get(1).Int() > 0 {
			status = "Progressing"
		}
		out.Add(status)
		for _, kind := range evictionEnds {
			if c := findCondition(v.All(2), kind); c.status.Is("True") {
				out.Discard()
				out.Add(kind)
				out.Add(" (")
				out.AddValue(c.reason)
				out.Add(")")
			}
		}
		out.SetText(evictionStatus)
	},
}

// The cell indexes of the responders of an Eviction.
const (
	responderName = iota
	responderStatus
	responderFinish
	responderHeartbeat
	responderMessage
)

// responderPrinter prints the active responder of an Eviction, or the last one that ended if
// none is active.
var responderPrinter = objectjson.Printer{
	Paths: []string{".status.targetResponders[*]", ".status.responders[*]"},
	Print: func(v *objectjson.Values, out *objectjson.Cells) {
		var name, state objectjson.Document
		begun := 0
		for _, target := range v.All(0) {
			n, s := pick(target, "name", "state")
			if s.Is("Inactive") {
				continue
			}
			begun++
			if !state.Is("Active") || s.Is("Active") {
				name, state = n, s
			}
		}
		if out.AddValue(name); state == nil {
			out.Add("<unset>")
		}
		out.Add(" (")
		addRatio(out, begun, len(v.All(0)))
		out.Add(")")
		out.SetText(responderName)
		for _, responder := range v.All(1) {
			if state != nil && responder.Member("name").Is(name.Text()) {
				printResponder(out, state, responder)
				break
			}
		}
	},
}

// printResponder prints the status of a responder in the given state.
func printResponder(out *objectjson.Cells, state, responder objectjson.Document) {
	var parts [5]objectjson.Document
	responder.Pick(parts[:], "startTime", "expectedCompletionTime", "completionTime", "heartbeatTime", "message")
	since, finish := parts[0], parts[1]
	active := state.Is("Active")
	if !active {
		if since, finish = nil, nil; state.Is("Completed") {
			since = parts[2]
		}
	}
	if active && !since.IsNull() {
		out.Add("Started")
	} else {
		out.AddValue(state)
		finish = nil
	}
	out.SetTimed(responderStatus, since)
	if !active {
		out.Add("-")
	}
	out.SetTimed(responderFinish, finish)
	out.SetTimed(responderHeartbeat, parts[3])
	addTrimmed(out, parts[4])
	out.SetText(responderMessage)
}

// printRequesters prints the first requester of an Eviction in alphabetical order, and the
// number of the others. Withdrawn requests do not count.
func printRequesters(v *objectjson.Values, out *objectjson.Cells) {
	requesters := v.All(0)
	first, count := "", 0
	for _, requester := range requesters {
		name, intent := pick(requester, "name", "intent")
		if intent.Is("Withdrawn") {
			continue
		}
		if text := name.Text(); count == 0 || text < first {
			first = text
		}
		count++
	}
	if count == 0 && len(requesters) > 0 {
		first = "<withdrawn>"
	}
	out.Add(first)
	addMore(out, count-1)
	out.SetText(0)
}
