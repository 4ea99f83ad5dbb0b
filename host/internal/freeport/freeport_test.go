package freeport_test

import (
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/host/internal/freeport"
)

const reservingProcess = "FREEPORT_TEST_RESERVES"

func reserve(t *testing.T, n int) []int {
	t.Helper()
	t.Cleanup(freeport.Release)
	ports := make([]int, n)
	for i := range ports {
		port, err := freeport.Reserve()
		require.NoError(t, err)
		ports[i] = port
	}
	return ports
}

// Listeners on port 0 and outgoing connections never get a reserved port.
func TestReservedPortStaysFreeForItsServer(t *testing.T) {
	for _, port := range reserve(t, 20) {
		for range 2 { // the second time, as after a restart
			l, err := net.Listen("tcp", freeport.Address(port))
			require.NoError(t, err)
			require.NoError(t, l.Close())
		}
		assert.Less(t, port, 32_768, "the kernel may give the port to an outgoing connection")
	}
}

// The go command tests packages in parallel processes. If reservations did not apply across
// processes, the two processes of this test would choose about four common ports.
func TestProcessesReserveDifferentPorts(t *testing.T) {
	if os.Getenv(reservingProcess) != "" {
		for _, port := range reserve(t, 200) {
			os.Stdout.WriteString("port " + strconv.Itoa(port) + "\n")
		}
		return
	}
	seen := map[int]bool{}
	for _, port := range reserve(t, 400) {
		assert.False(t, seen[port], port)
		seen[port] = true
	}
	child := exec.Command(os.Args[0], "-test.run=^TestProcessesReserveDifferentPorts$")
	child.Env = append(os.Environ(), reservingProcess+"=1")
	out, err := child.Output()
	require.NoError(t, err)
	others := 0
	for line := range strings.Lines(string(out)) {
		text, ok := strings.CutPrefix(strings.TrimSpace(line), "port ")
		if !ok {
			continue
		}
		port, err := strconv.Atoi(text)
		require.NoError(t, err)
		assert.False(t, seen[port], "both processes reserved %d", port)
		others++
	}
	assert.Equal(t, 200, others)
}

func TestReserveSkipsPortsInUse(t *testing.T) {
	port := reserve(t, 1)[0]
	l, err := net.Listen("tcp", freeport.Address(port))
	require.NoError(t, err)
	defer l.Close()
	for _, other := range reserve(t, 100) {
		assert.NotEqual(t, port, other)
	}
}
