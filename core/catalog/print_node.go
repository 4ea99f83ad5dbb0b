package catalog

import (
	"strings"

	"github.com/watchglass/watchglass/core/objectjson"
)

// The cell indexes of a node.
const (
	nodeStatus = iota
	nodeRoles
	nodeInternalIP
	nodeExternalIP
	nodeKernel
)

var nodePrinter = objectjson.Printer{
	Paths: []string{
		".status.conditions[*]", ".spec.unschedulable", ".metadata.labels", ".status.addresses[*]",
		".status.nodeInfo.kernelVersion", ".status.nodeInfo.architecture",
	},
	Print: printNode,
}

func printNode(v *objectjson.Values, out *objectjson.Cells) {
	status := "Unknown"
	for _, condition := range v.All(0) {
		if kind, ready := pick(condition, "type", "status"); kind.Is("Ready") {
			status = "NotReady"
			if ready.Is("True") {
				status = "Ready"
			}
		}
	}
	out.Add(status)
	if v.Get(1).True() {
		out.Add(",SchedulingDisabled")
	}
	out.SetText(nodeStatus)

	for _, role := range roles(v.Get(2)) {
		addListed(out, role)
	}
	out.SetText(nodeRoles)
	printAddress(v, out, nodeInternalIP, "InternalIP")
	printAddress(v, out, nodeExternalIP, "ExternalIP")

	if out.AddValue(v.Get(4)); out.Empty() {
		out.Add("<unknown>")
	}
	if architecture := v.Get(5); len(architecture) > len(`""`) {
		out.Add(" (")
		out.AddValue(architecture)
		out.Add(")")
	}
	out.SetText(nodeKernel)
}

// roles returns the sorted roles of a node. A role is in the key of a label,
// "node-role.kubernetes.io/<role>", or in the value of the label
// "kubernetes.io/role".
func roles(labels objectjson.Document) []string {
	var found []string
	for _, label := range sortedMap(labels) {
		role, ok := strings.CutPrefix(label.key, "node-role.kubernetes.io/")
		if !ok && label.key == "kubernetes.io/role" {
			role, ok = label.value, true
		}
		if ok && role != "" {
			found = append(found, role)
		}
	}
	return distinct(found)
}

// printAddress prints the first address of the given type.
func printAddress(v *objectjson.Values, out *objectjson.Cells, cell int, kind string) {
	for _, address := range v.All(3) {
		if k, text := pick(address, "type", "address"); k.Is(kind) {
			out.AddValue(text)
			break
		}
	}
	out.SetText(cell)
}
