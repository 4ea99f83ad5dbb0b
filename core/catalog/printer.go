package catalog

import (
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/objectjson"
)

// NewScanner compiles a schema whose columns may name printers of this package.
func NewScanner(schema *api.Schema) (*objectjson.Scanner, error) {
	return objectjson.NewPrintingScanner(schema, Printer)
}

// Printer returns the printer with the name that a column uses, and the index of the
// cell that the column shows. It returns nil for an unknown name.
func Printer(name string) (p *objectjson.Printer, cell int) {
	for i := range printers {
		if printers[i].name == name {
			return printers[i].printer, printers[i].cell
		}
	}
	return nil, 0
}

// printers lists the printers by name. A printer that computes several cells has one name
// for each cell.
var printers = [...]struct {
	name    string
	printer *objectjson.Printer
	cell    int
}{
	{"count", &objectjson.Printer{Print: printCount, CountsOnly: true}, 0},
	{"ratio", &objectjson.Printer{Print: printRatio}, 0},
	{"first", &objectjson.Printer{Print: printFirst}, 0},
	{"firstInteger", &objectjson.Printer{Print: printFirstInteger}, 0},
	{"firstDate", &objectjson.Printer{Print: printFirstDate}, 0},
	{"slash", &objectjson.Printer{Print: printSlash}, 0},
	{"labels", &objectjson.Printer{Print: printLabels}, 0},
	{"selector", &objectjson.Printer{Print: printSelector}, 0},
	{"trim", &objectjson.Printer{Print: printTrimmed}, 0},
	{"phase", &objectjson.Printer{Print: printPhase}, 0},
	{"accessModes", &objectjson.Printer{Print: printAccessModes}, 0},
	{"sum", &objectjson.Printer{Print: printSum}, 0},
	{"title", &objectjson.Printer{Print: printTitle}, 0},

	{"poolTotal", &poolPrinter, poolTotal},
	{"poolAvailable", &poolPrinter, poolAvailable},
	{"poolAllocated", &poolPrinter, poolAllocated},
	{"poolUnavailable", &poolPrinter, poolUnavailable},
	{"poolErrors", &poolPrinter, poolErrors},
	{"poolStatus", &poolPrinter, poolStatus},
	{"poolCompleted", &poolPrinter, poolCompleted},
	{"evictionTarget", &evictionPrinter, evictionTarget},
	{"evictionStatus", &evictionPrinter, evictionStatus},
	{"responder", &responderPrinter, responderName},
	{"responderStatus", &responderPrinter, responderStatus},
	{"responderFinish", &responderPrinter, responderFinish},
	{"responderHeartbeat", &responderPrinter, responderHeartbeat},
	{"responderMessage", &responderPrinter, responderMessage},
	{"requesters", &objectjson.Printer{Print: printRequesters}, 0},

	{"list", &objectjson.Printer{Print: printList}, 0},
	{"bound", &objectjson.Printer{Print: printBound}, 0},
	{"default", &objectjson.Printer{Print: printDefault}, 0},
	{"loadBalancer", &objectjson.Printer{Print: printLoadBalancer}, 0},
	{"hosts", &objectjson.Printer{Print: printHosts}, 0},
	{"tls", &objectjson.Printer{Print: printTLS}, 0},
	{"slicePorts", &objectjson.Printer{Print: printSlicePorts}, 0},

	{"podReady", &podPrinter, podReady},
	{"podStatus", &podPrinter, podStatus},
	{"podRestarts", &podPrinter, podRestarts},
	{"podGates", &podPrinter, podGates},

	{"nodeStatus", &nodePrinter, nodeStatus},
	{"nodeRoles", &nodePrinter, nodeRoles},
	{"nodeInternalIP", &nodePrinter, nodeInternalIP},
	{"nodeExternalIP", &nodePrinter, nodeExternalIP},
	{"nodeKernel", &nodePrinter, nodeKernel},

	{"jobStatus", &jobPrinter, jobStatus},
	{"jobCompletions", &jobPrinter, jobCompletions},
	{"jobDuration", &jobPrinter, jobDuration},
	{"controller", &controllerPrinter, 0},
	{"metrics", &autoscalerPrinter, 0},
	{"quotaRequests", &quotaPrinter, 0},
	{"quotaLimits", &quotaPrinter, 1},

	{"serviceExternal", &servicePrinter, serviceExternal},
	{"servicePorts", &servicePrinter, servicePorts},
	{"endpoints", &endpointsPrinter, 0},
	{"ingressClass", &ingressClassPrinter, 0},
	{"parent", &parentPrinter, 0},

	{"eventObject", &eventPrinter, eventObject},
	{"eventSource", &eventPrinter, eventSource},
	{"users", &subjectPrinter, subjectUsers},
	{"groups", &subjectPrinter, subjectGroups},
	{"accounts", &subjectPrinter, subjectAccounts},
	{"requestCondition", &requestPrinter, requestCondition},
	{"requestDuration", &requestPrinter, requestDuration},
	{"apiService", &apiServicePrinter, 0},
	{"param", &paramPrinter, 0},
	{"dangling", &danglingPrinter, 0},
	{"claim", &claimPrinter, 0},
	{"requestState", &objectjson.Printer{Print: printRequestState}, 0},
	{"migration", &objectjson.Printer{Print: printMigration}, 0},
	{"groupResource", &objectjson.Printer{Print: printGroupResource}, 0},
	{"versions", &objectjson.Printer{Print: printVersions}, 0},
	{"groupPolicy", &groupPrinter, groupPolicy},
	{"groupStatus", &groupPrinter, groupStatus},
}
