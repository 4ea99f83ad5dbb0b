package catalog

import (
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/objectjson"
)

// The cell indexes of an event.
const (
	eventObject = iota
	eventSource
)

var eventPrinter = objectjson.Printer{
	Paths: []string{
		".involvedObject.kind", ".involvedObject.name", ".source.component", ".reportingComponent", ".source.host", ".reportingInstance",
	},
	Print: func(v *objectjson.Values, out *objectjson.Cells) {
		addLower(out, v.Get(0).Text())
		if name := v.Get(1).Text(); name != "" {
			out.Add("/" + name)
		}
		out.SetText(eventObject)

		out.Add(firstText(v.Get(2), v.Get(3)))
		if host := firstText(v.Get(4), v.Get(5)); host != "" {
			out.Add(", " + host)
		}
		out.SetText(eventSource)
	},
}

// firstText returns the first text that is not empty, or "" if there is none.
func firstText(documents ...objectjson.Document) string {
	for _, d := range documents {
		if text := d.Text(); text != "" {
			return text
		}
	}
	return ""
}

// printDefault prints the name of an object, followed by "(default)" if one of the
// annotations is "true" and thus declares the object the default of its kind.
func printDefault(v *objectjson.Values, out *objectjson.Cells) {
	out.AddValue(v.Get(0))
	for i := 1; i < v.Len(); i++ {
		if v.Get(i).Is("true") {
			out.Add(" (default)")
			break
		}
	}
	out.SetText(0)
}

// The cell indexes of a role binding, one for each kind of subject.
const (
	subjectUsers = iota
	subjectGroups
	subjectAccounts
)

var subjectPrinter = objectjson.Printer{
	Paths: []string{".subjects[*]"},
	Print: func(v *objectjson.Values, out *objectjson.Cells) {
		for cell, kind := range [...]string{subjectUsers: "User", subjectGroups: "Group", subjectAccounts: "ServiceAccount"} {
			for _, subject := range v.All(0) {
				var parts [3]objectjson.Document
				subject.Pick(parts[:], "kind", "name", "namespace")
				if !parts[0].Is(kind) {
					continue
				}
				if !out.Empty() {
					out.Add(", ")
				}
				if cell == subjectAccounts {
					out.AddValue(parts[2])
					out.Add("/")
				}
				out.AddValue(parts[1])
			}
			out.SetText(cell)
		}
	},
}

// The cell indexes of a certificate signing request.
const (
	requestCondition = iota
	requestDuration
)

var requestPrinter = objectjson.Printer{
	Paths: []string{".status.conditions[*].type", ".status.certificate", ".spec.expirationSeconds"},
	Print: func(v *objectjson.Values, out *objectjson.Cells) {
		approved, denied, failed := false, false, false
		for _, condition := range v.All(0) {
			approved = approved || condition.Is("Approved")
			denied = denied || condition.Is("Denied")
			failed = failed || condition.Is("Failed")
		}
		switch {
		case denied:
			out.Add("Denied")
		case approved:
			out.Add("Approved")
		default:
			out.Add("Pending")
		}
		if failed {
			out.Add(",Failed")
		}
		if len(v.Get(1)) > len(`""`) {
			out.Add(",Issued")
		}
		out.SetText(requestCondition)
		if seconds := v.Get(2); !seconds.IsNull() {
			out.SetNumber(requestDuration, api.Duration, int64(seconds.Int())*1000)
		}
	},
}

// apiServicePrinter prints whether an APIService is available, and the reason if it is
// not.
var apiServicePrinter = objectjson.Printer{
	Paths: []string{".status.conditions[*]"},
	Print: func(v *objectjson.Values, out *objectjson.Cells) {
		available := findCondition(v.All(0), "Available")
		out.AddValue(available.status)
		if reason := available.reason.Text(); reason != "" && !available.status.Is("True") {
			out.Add(" (" + reason + ")")
		}
		out.SetText(0)
	},
}

// paramPrinter prints the parameter of an admission policy binding.
var paramPrinter = objectjson.Printer{
	Paths: []string{".spec.paramRef"},
	Print: func(v *objectjson.Values, out *objectjson.Cells) {
		var parts [3]objectjson.Document
		v.Get(0).Pick(parts[:], "name", "namespace", "selector")
		if name := parts[0].Text(); name != "" {
			namespace := parts[1].Text()
			if namespace == "" {
				namespace = "*" // the reference names no namespace
			}
			out.Add(namespace + "/" + name)
		} else if !parts[2].IsNull() {
			addStruct(out, parts[2])
		}
		out.SetText(0)
	},
}

// addStruct adds a LabelSelector in the notation of Go, as kube-apiserver prints it.
func addStruct(out *objectjson.Cells, selector objectjson.Document) {
	labels, expressions := pick(selector, "matchLabels", "matchExpressions")
	out.Add("&LabelSelector{MatchLabels:map[string]string{")
	for _, label := range sortedMap(labels) {
		out.Add(label.key)
		out.Add(": ")
		out.Add(label.value)
		out.Add(",")
	}
	out.Add("},MatchExpressions:[]LabelSelectorRequirement{")
	for _, expression := range expressions.Elements() {
		var e [3]objectjson.Document
		expression.Pick(e[:], "key", "operator", "values")
		out.Add("LabelSelectorRequirement{Key:")
		out.AddValue(e[0])
		out.Add(",Operator:")
		out.AddValue(e[1])
		out.Add(",Values:[")
		for i, value := range e[2].Elements() {
			if i > 0 {
				out.Add(" ")
			}
			out.AddValue(value)
		}
		out.Add("],},")
	}
	out.Add("},}")
}

// danglingPrinter prints whether the priority level of a FlowSchema is missing.
var danglingPrinter = objectjson.Printer{
	Paths: []string{".status.conditions[*]"},
	Print: func(v *objectjson.Values, out *objectjson.Cells) {
		out.AddValue(findCondition(v.All(0), "Dangling").status)
		out.SetText(0)
	},
}

// claimPrinter prints the state of a ResourceClaim.
var claimPrinter = objectjson.Printer{
	Paths: []string{".metadata.deletionTimestamp", ".status.allocation", ".status.reservedFor"},
	Print: func(v *objectjson.Values, out *objectjson.Cells) {
		deleted, allocated := !v.Get(0).IsNull(), !v.Get(1).IsNull()
		if deleted {
			out.Add("deleted")
		}
		switch {
		case allocated:
			addListed(out, "allocated")
			if v.Get(2).Len() > 0 {
				out.Add(",reserved")
			}
		case !deleted:
			out.Add("pending")
		}
		out.SetText(0)
	},
}

// printBound prints the second value if the first is a non-empty string. A missing second
// value is printed as 0.
func printBound(v *objectjson.Values, out *objectjson.Cells) {
	if len(v.Get(0)) > len(`""`) {
		addNumber(out, v.Get(1))
	}
	out.SetText(0)
}

// printRequestState prints the state of a PodCertificateRequest.
func printRequestState(v *objectjson.Values, out *objectjson.Cells) {
	printCondition(v, out, "Issued", "Denied", "Failed")
}

// printMigration prints the status of a StorageVersionMigration.
func printMigration(v *objectjson.Values, out *objectjson.Cells) {
	printCondition(v, out, "Running", "Failed", "Succeeded")
}

// printCondition prints the type of the last true condition among those of the given
// types.
func printCondition(v *objectjson.Values, out *objectjson.Cells, types ...string) {
	for _, condition := range v.All(0) {
		kind, status := pick(condition, "type", "status")
		for _, t := range types {
			if kind.Is(t) && status.Is("True") {
				out.Discard()
				out.Add(t)
			}
		}
	}
	out.SetText(0)
}

// printGroupResource prints a resource and its group, such as "deployments.apps".
func printGroupResource(v *objectjson.Values, out *objectjson.Cells) {
	out.AddValue(v.Get(0))
	if group := v.Get(1).Text(); group != "" {
		out.Add("." + group)
	}
	out.SetText(0)
}

// printVersions prints the first servers of a StorageVersion with their versions, and the
// number of the other servers.
func printVersions(v *objectjson.Values, out *objectjson.Cells) {
	servers := v.All(0)
	for _, server := range servers[:min(len(servers), most)] {
		id, version := pick(server, "apiServerID", "encodingVersion")
		addListed(out, id.Text())
		out.Add("=")
		out.AddValue(version)
	}
	addMore(out, len(servers)-most)
	out.SetText(0)
}

// The cell indexes of a PodGroup or a CompositePodGroup.
const (
	groupPolicy = iota
	groupStatus
)

var groupPrinter = objectjson.Printer{
	Paths: []string{".spec.schedulingPolicy.gang", ".status.conditions[*]"},
	Print: func(v *objectjson.Values, out *objectjson.Cells) {
		policy := "Gang"
		if v.Get(0).IsNull() {
			policy = "Basic"
		}
		out.Add(policy)
		out.SetText(groupPolicy)

		scheduled := findCondition(v.All(1), "PodGroupScheduled").status
		if scheduled.IsNull() { // in Kubernetes 1.37, the condition has another name
			scheduled = findCondition(v.All(1), "PodGroupInitiallyScheduled").status
		}
		target := findCondition(v.All(1), "DisruptionTarget")
		switch {
		case !target.status.IsNull():
			out.AddValue(target.reason)
		case scheduled.Is("True"):
			out.Add("Scheduled")
		case !scheduled.IsNull():
			out.Add("Unschedulable")
		}
		out.SetText(groupStatus)
	},
}
