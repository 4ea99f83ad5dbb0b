package workerd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

const configOfTest = `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [(name = "nothing", worker = .nothing)],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "nothing")],
);
const nothing :Workerd.Worker = (
  compatibilityDate = "2026-10-01",
  modules = [(name = "nothing.js", esModule = "export default { fetch() { return new Response() } }")],
);
`

// TestMain runs the tests. If WATCHGLASS_WORKERD is set, this process is the parent that a
// test kills; TestMain then only starts the runtime and waits.
func TestMain(m *testing.M) {
	if config := os.Getenv("WATCHGLASS_WORKERD"); config != "" {
		binary, err := Find("../../..")
		if err == nil {
			var p *Process
			if p, err = Start(context.Background(), Config{Binary: binary, Path: config}); err == nil {
				fmt.Println(p.Address(), p.Pid())
				<-p.Done()
			}
		}
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// If a runtime continued after its parent was killed, its port would stay in use, and the
// next run would fail.
func TestRuntimeEndsWhenItsParentIsKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: runs workerd")
	}
	config := filepath.Join(t.TempDir(), "config.capnp")
	require.NoError(t, os.WriteFile(config, []byte(configOfTest), 0o600))
	parent := exec.CommandContext(t.Context(), os.Args[0])
	parent.Env = append(os.Environ(), "WATCHGLASS_WORKERD="+config)
	parent.Stderr = os.Stderr
	out, err := parent.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, parent.Start())
	var address string
	var pid int
	_, err = fmt.Fscan(out, &address, &pid)
	require.NoError(t, err)
	runtime := open(t, pid)
	conn, err := net.Dial("tcp", address)
	require.NoError(t, err)
	require.NoError(t, conn.Close())

	require.NoError(t, parent.Process.Kill())
	require.Error(t, parent.Wait())
	waitForExit(t, runtime)
	_, err = net.Dial("tcp", address)
	require.ErrorIs(t, err, syscall.ECONNREFUSED)
}

// open returns a file descriptor for a running process. The descriptor refers to the same
// process even if another process later has the same ID.
func open(t *testing.T, pid int) int {
	t.Helper()
	fd, err := unix.PidfdOpen(pid, 0)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, unix.Close(fd)) })
	return fd
}

// waitForExit waits until a process has ended. A closed connection does not prove that
// the process has ended, because the kernel closes the files of a killed process one
// after the other. The listening socket may still accept connections after other
// sockets are closed.
func waitForExit(t *testing.T, process int) {
	t.Helper()
	fds := []unix.PollFd{{Fd: int32(process), Events: unix.POLLIN}}
	for {
		n, err := unix.Poll(fds, int(time.Minute.Milliseconds()))
		if errors.Is(err, unix.EINTR) {
			continue
		}
		require.NoError(t, err)
		require.Equal(t, 1, n, "the process still runs a minute after its parent was killed")
		return
	}
}
