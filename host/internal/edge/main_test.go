package main

import (
	"io"
	"net"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// If an address is in use, the error names it, and workerd is not started.
func TestAddressInUseIsReportedImmediately(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	address := taken.Addr().String()
	err = run(t.Context(), config{listen: address, secure: "127.0.0.1:0"}, io.Discard)
	assert.ErrorContains(t, err, address+" is in use by another program: stop it, or choose another port with -listen")
	err = run(t.Context(), config{listen: "127.0.0.1:0", secure: address}, io.Discard)
	assert.ErrorContains(t, err, "choose another port with -tls-listen")
}

// The command reports invalid clusters before the runtime starts, because it does not show
// the runtime's log.
func TestInvalidClustersAreReportedImmediately(t *testing.T) {
	err := run(t.Context(), config{listen: "127.0.0.1:0", secure: "127.0.0.1:0", clusters: "{bad"}, io.Discard)
	assert.ErrorContains(t, err, "-clusters: invalid clusters, expected an object such as")
}
