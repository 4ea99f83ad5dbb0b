package apiversion_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/watchglass/watchglass/host/internal/apiversion"
)

func TestMoreStable(t *testing.T) {
	order := []string{"v10", "v2", "v1", "v2beta1", "v1beta2", "v1beta1", "v3alpha1", "v1alpha1"}
	shuffled := []string{"v1beta1", "v1", "v3alpha1", "v10", "v2beta1", "v1alpha1", "v2", "v1beta2"}
	slices.SortFunc(shuffled, func(a, b string) int {
		switch {
		case apiversion.MoreStable(a, b):
			return -1
		case apiversion.MoreStable(b, a):
			return 1
		}
		return 0
	})
	assert.Equal(t, order, shuffled)
}
