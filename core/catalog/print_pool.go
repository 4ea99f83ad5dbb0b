package catalog

import "github.com/watchglass/watchglass/core/objectjson"

// The cell indexes of a ResourcePoolStatusRequest. The first cells are sums over the pools.
const (
	poolTotal = iota
	poolAvailable
	poolAllocated
	poolUnavailable
	poolErrors
	poolStatus
	poolCompleted
)

// poolPrinter prints the numbers of devices and of faulty pools that a
// ResourcePoolStatusRequest reports. The numbers are texts. They are missing while the
// request has no status, and if it failed.
var poolPrinter = objectjson.Printer{
	Paths: []string{
		".status.pools[*].totalDevices", ".status.pools[*].availableDevices", ".status.pools[*].allocatedDevices",
		".status.pools[*].unavailableDevices", ".status.pools[*].validationError",
		".status.pools[*]", ".status.poolCount", ".status.conditions[*]", ".status",
	},
	Print: func(v *objectjson.Values, out *objectjson.Cells) {
		complete, failed := false, false
		for _, condition := range v.All(7) {
			kind, status := pick(condition, "type", "status")
			complete, failed = kind.Is("Complete"), kind.Is("Failed")
			if status.Is("True") && (complete || failed) {
				if complete && !out.SetDate(poolCompleted, condition.Member("lastTransitionTime")) {
					out.Add("<unknown>")
					out.SetText(poolCompleted)
				}
				break
			}
			complete, failed = false, false
		}
		state := "Pending"
		if complete {
			state = "Complete"
		} else if failed {
			state = "Failed"
		}
		out.Add(state)
		if printed, count := len(v.All(5)), v.Get(6).Int(); complete && count > printed {
			out.Add(" (")
			addRatio(out, printed, count)
			out.Add(" pools)")
		}
		out.SetText(poolStatus)
		if failed || v.Get(8).IsNull() {
			return
		}
		for cell := range poolStatus {
			sum := int32(0) // the sums of kube-apiserver also have 32 bits
			for _, value := range v.All(cell) {
				if cell < poolErrors {
					sum += int32(value.Int())
				} else if !value.IsNull() {
					sum++
				}
			}
			out.AddInt(int(sum))
			out.SetText(cell)
		}
	},
}
