package catalog

import (
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/internal/lite"
)

// maxSuggestions limits the size of a 404, because clients can request arbitrary
// resources.
const maxSuggestions = 3

// NotServed returns the 404 for a resource that is not served. The text "where" follows
// "is not served" in the message, for example "here". The message suggests up to three
// resources with similar names, if there are any.
func NotServed(resource api.Resource, where string, served []api.Resource) *api.Status {
	var similar []string
	for _, r := range served {
		if len(similar) < maxSuggestions && alike(r.Name, resource.Name) {
			similar = append(similar, r.String())
		}
	}
	message := "resource " + resource.String() + " is not served " + where
	if len(similar) > 0 {
		message += "; did you mean " + lite.Join(similar, ", ") + "?"
	}
	return api.NotFound(message)
}

// alike reports whether two names differ only at their ends, like singular and
// plural.
func alike(a, b string) bool {
	short, long := min(len(a), len(b)), max(len(a), len(b))
	common := max(3, short-3)
	return long-short <= 3 && common <= short && lite.EqualFold(a[:common], b[:common])
}
