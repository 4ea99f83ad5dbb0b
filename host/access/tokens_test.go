package access_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/host/access"
)

func TestRemovedTokensAreWithdrawn(t *testing.T) {
	tokens := access.Token("a")
	authenticate := func(secret string) *access.User {
		user, refused := tokens.Authenticate(t.Context(), secret)
		require.Nil(t, refused, secret)
		return user
	}
	refused := func(secret string) {
		user, status := tokens.Authenticate(t.Context(), secret)
		assert.Nil(t, user)
		require.NotNil(t, status, secret)
		assert.Equal(t, 401, status.Code)
	}
	a := authenticate("a")
	refused("b")
	refused("")
	tokens.Set([]string{"a", "b", "a"})
	b := authenticate("b")
	assert.NoError(t, a.Valid.Err())

	tokens.Set([]string{"b", "c"})
	assert.Error(t, a.Valid.Err())
	assert.NoError(t, b.Valid.Err())
	refused("a")
	tokens.Set([]string{"a"})
	assert.Error(t, b.Valid.Err())
	assert.NoError(t, authenticate("a").Valid.Err(), "a token that is accepted again is a new grant")
	assert.Error(t, a.Valid.Err())
}
