package limit

import (
	"net/http"

	"github.com/watchglass/watchglass/core/selector"
)

// These limits apply to the selectors of one subscription, list or watch.
var (
	MaxSelectorBytes = define(Limit{
		Name: selector.LimitBytes, Default: 8 << 10, Unit: Bytes, Code: http.StatusRequestEntityTooLarge,
		Help: "length of the label and field selectors of one subscription or request together; longer ones are refused before they are parsed",
	})
	MaxSelectorRequirements = define(Limit{
		Name: selector.LimitRequirements, Default: 256, Unit: Count, Code: http.StatusRequestEntityTooLarge,
		Help: "label requirements and field terms of one subscription or request together",
	})
	MaxSelectorValues = define(Limit{
		Name: selector.LimitValues, Default: 1024, Unit: Count, Code: http.StatusRequestEntityTooLarge,
		Help: "values of the label requirements of one subscription or request together",
	})
)

// Selectors returns the limits of selectors in the form that the core accepts.
func (s *Set) Selectors() selector.Limits {
	return selector.Limits{
		Bytes: s.Int(MaxSelectorBytes), Requirements: s.Int(MaxSelectorRequirements), Values: s.Int(MaxSelectorValues),
	}
}
