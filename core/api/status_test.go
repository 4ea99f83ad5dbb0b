package api

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestC9_ErrorsWithoutAStatusAreInternal(t *testing.T) {
	status := AsStatus(errors.New("the disk is full"))
	require.Equal(t, &Status{Code: 500, Reason: ReasonInternalError, Message: "the disk is full"}, status)
	own := NotFound("no such thing")
	require.Same(t, own, AsStatus(own))
}
