package catalog

import (
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/objectjson"
)

// The cell indexes of a job.
const (
	jobStatus = iota
	jobCompletions
	jobDuration
)

var jobPrinter = objectjson.Printer{
	Paths: []string{
		".status.conditions[*]", ".metadata.deletionTimestamp", ".status.succeeded", ".spec.completions", ".spec.parallelism",
		".status.startTime", ".status.completionTime",
	},
	Print: printJob,
}

func printJob(v *objectjson.Values, out *objectjson.Cells) {
	out.Add(statusOfJob(v))
	out.SetText(jobStatus)

	addNumber(out, v.Get(2))
	out.Add("/")
	if completions := v.Get(3); !completions.IsNull() {
		out.AddValue(completions)
	} else if out.Add("1"); v.Get(4).Int() > 1 {
		out.Add(" of ")
		out.AddValue(v.Get(4))
	}
	out.SetText(jobCompletions)

	start, started := v.Get(5).Date()
	end, ended := v.Get(6).Date()
	switch {
	case started && ended:
		out.SetNumber(jobDuration, api.Duration, end-start)
	case started:
		out.SetDate(jobDuration, v.Get(5))
	}
}

// statusOfJob returns the status of a job. A job that has finished is never Terminating,
// even while it is being deleted.
func statusOfJob(v *objectjson.Values) string {
	for _, s := range [...]struct{ condition, status string }{
		{"Complete", "Complete"}, {"Failed", "Failed"}, {"", "Terminating"}, {"Suspended", "Suspended"},
		{"FailureTarget", "FailureTarget"}, {"SuccessCriteriaMet", "SuccessCriteriaMet"},
	} {
		if s.condition == "" && !v.Get(1).IsNull() || s.condition != "" && findCondition(v.All(0), s.condition).status.Is("True") {
			return s.status
		}
	}
	return "Running"
}

// condition contains the status and the reason of a condition. Both are nil if the
// object lacks the condition.
type condition struct{ status, reason objectjson.Document }

// findCondition returns the first condition of a type.
func findCondition(conditions []objectjson.Document, kind string) condition {
	for _, c := range conditions {
		var parts [3]objectjson.Document
		c.Pick(parts[:], "type", "status", "reason")
		if parts[0].Is(kind) {
			return condition{parts[1], parts[2]}
		}
	}
	return condition{}
}

// controllerPrinter prints the controller among the owners, such as
// "daemonset.apps/web".
var controllerPrinter = objectjson.Printer{
	Paths: []string{".metadata.ownerReferences[*]"},
	Print: func(v *objectjson.Values, out *objectjson.Cells) {
		for _, owner := range v.All(0) {
			var parts [4]objectjson.Document
			owner.Pick(parts[:], "controller", "kind", "apiVersion", "name")
			if !parts[0].True() {
				continue
			}
			addLower(out, parts[1].Text())
			if group, _, ok := cutLast(parts[2].Text(), '/'); ok {
				out.Add(".")
				addLower(out, group)
			}
			out.Add("/")
			out.AddValue(parts[3])
			break
		}
		out.SetText(0)
	},
}

// addLower adds a text with its ASCII letters in lower case.
func addLower(out *objectjson.Cells, text string) {
	for i := range len(text) {
		c := text[i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		out.Text = append(out.Text, c)
	}
}

// cutLast splits a text at the last separator.
func cutLast(text string, separator byte) (before, after string, found bool) {
	for i := len(text) - 1; i >= 0; i-- {
		if text[i] == separator {
			return text[:i], text[i+1:], true
		}
	}
	return text, "", false
}

// autoscalerPrinter prints the current and the target values of an autoscaler's metrics,
// such as "cpu: 20%/80%".
var autoscalerPrinter = objectjson.Printer{
	Paths: []string{".spec.metrics[*]", ".status.currentMetrics[*]"},
	Print: func(v *objectjson.Values, out *objectjson.Cells) {
		const most = 2
		metrics, current := v.All(0), v.All(1)
		for i, metric := range metrics[:min(len(metrics), most)] {
			if i > 0 {
				out.Add(", ")
			}
			var now objectjson.Document
			if i < len(current) {
				now = current[i]
			}
			printMetric(out, metric, now)
		}
		addMore(out, len(metrics)-most)
		out.SetText(0)
	},
}

// addMore adds the number of omitted values, if any.
func addMore(out *objectjson.Cells, omitted int) {
	if omitted > 0 {
		out.Add(" + ")
		out.AddInt(omitted)
		out.Add(" more...")
	}
}

// metricSources lists, for each type of metric, the member that contains the metric, and
// whether the cell starts with the name of the metric.
var metricSources = [...]struct {
	kind, member string
	named        bool
}{
	{"External", "external", false}, {"Pods", "pods", false}, {"Object", "object", false},
	{"Resource", "resource", true}, {"ContainerResource", "containerResource", true},
}

func printMetric(out *objectjson.Cells, metric, status objectjson.Document) {
	kind := metric.Member("type")
	for _, s := range metricSources {
		if !kind.Is(s.kind) {
			continue
		}
		spec, current := metric.Member(s.member), status.Member(s.member, "current")
		target := spec.Member("target")
		average := target.Member("averageValue")
		switch {
		case s.named:
			out.AddValue(spec.Member("name"))
			out.Add(": ")
			if average.IsNull() {
				addPercent(out, current.Member("averageUtilization"), "<unknown>")
				out.Add("/")
				addPercent(out, target.Member("averageUtilization"), "<auto>")
				return
			}
			addQuantities(out, current.Member("averageValue"), !current.IsNull(), average)
		case s.kind == "Pods":
			addQuantities(out, current.Member("averageValue"), !current.IsNull(), average)
		case average.IsNull():
			addQuantities(out, current.Member("value"), !current.IsNull(), target.Member("value"))
		default:
			addQuantities(out, current.Member("averageValue"), false, average)
			out.Add(" (avg)")
		}
		return
	}
	out.Add("<unknown type>")
}

// addQuantities adds "current/target". A missing current value is printed as <unknown>,
// or as <nil> if the metric has a status.
func addQuantities(out *objectjson.Cells, current objectjson.Document, known bool, target objectjson.Document) {
	if current.IsNull() && !known {
		out.Add("<unknown>")
	} else {
		addQuantity(out, current)
	}
	out.Add("/")
	addQuantity(out, target)
}

func addQuantity(out *objectjson.Cells, quantity objectjson.Document) {
	if quantity.IsNull() {
		out.Add("<nil>") // as kube-apiserver prints it
	}
	out.AddValue(quantity)
}

func addPercent(out *objectjson.Cells, value objectjson.Document, missing string) {
	if value.IsNull() {
		out.Add(missing)
		return
	}
	out.AddValue(value)
	out.Add("%")
}

// quotaPrinter prints the used and the hard values of a quota, in separate columns for
// requests and limits.
var quotaPrinter = objectjson.Printer{
	Paths: []string{".status.hard", ".status.used"},
	Print: func(v *objectjson.Values, out *objectjson.Cells) {
		hard, used := sortedMap(v.Get(0)), sortedMap(v.Get(1))
		for cell := range 2 {
			for _, h := range hard {
				if limit := len(h.key) > len("limits.") && h.key[:len("limits.")] == "limits."; limit != (cell == 1) {
					continue
				}
				if !out.Empty() {
					out.Add(", ")
				}
				out.Add(h.key + ": ")
				out.Add(valueOf(used, h.key, "0"))
				out.Add("/" + h.value)
			}
			out.SetText(cell)
		}
	},
}

// valueOf returns the value of a key, or the argument missing if there is no such
// key.
func valueOf(entries []entry, key, missing string) string {
	for i := range entries {
		if entries[i].key == key {
			return entries[i].value
		}
	}
	return missing
}
