package kubeapi_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/host/kubeapi"
)

func TestC39_C40_P16_FirstPageOfAList(t *testing.T) {
	const size = 500
	type options = kubeapi.ListOptions
	for _, c := range []struct {
		asked, page options
		all         bool
	}{
		{options{}, options{Limit: size}, true},
		{options{Limit: 3}, options{Limit: 3}, false},
		{options{Limit: 900}, options{Limit: size}, false},
		{options{Limit: 900, Continue: "token"}, options{Limit: size, Continue: "token"}, false},
		{options{Continue: "token"}, options{Limit: size, Continue: "token"}, true},
		{options{ResourceVersion: "0"}, options{Limit: size}, true},
		{options{ResourceVersion: "0", Limit: 3}, options{Limit: size}, true},
		{options{ResourceVersion: "0", Match: api.MatchNotOlderThan}, options{Limit: size}, true},
		{options{ResourceVersion: "0", Match: api.MatchExact}, options{ResourceVersion: "0", Match: api.MatchExact, Limit: size}, true},
		{options{ResourceVersion: "7"}, options{ResourceVersion: "7", Match: api.MatchNotOlderThan, Limit: size}, true},
		{options{ResourceVersion: "7", Match: api.MatchExact}, options{ResourceVersion: "7", Match: api.MatchExact, Limit: size}, true},
		{options{ResourceVersion: "7", Limit: 3}, options{ResourceVersion: "7", Limit: 3}, false},
	} {
		page := c.asked
		assert.Equal(t, c.all, page.InPages(size), "%+v", c.asked)
		assert.Equal(t, c.page, page, "%+v", c.asked)
	}
}
