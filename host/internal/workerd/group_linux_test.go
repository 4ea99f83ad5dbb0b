package workerd

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
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

// TestMain lets the test binary be a program that starts the runtime and waits.
func TestMain(m *testing.M) {
	if config := os.Getenv("WATCHGLASS_WORKERD"); config != "" {
		binary, err := Find("../../..")
		if err == nil {
			var p *Process
			if p, err = Start(context.Background(), Config{Binary: binary, Path: config}); err == nil {
				fmt.Println(p.Address())
				<-p.Done()
			}
		}
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// Regression 1: it went on, and held its port, when who had started it was killed.
func TestRegression1_TheRuntimeDiesWithWhoStartedIt(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: runs workerd")
	}
	config := filepath.Join(t.TempDir(), "config.capnp")
	require.NoError(t, os.WriteFile(config, []byte(configOfTest), 0o600))
	starter := exec.CommandContext(t.Context(), os.Args[0])
	starter.Env = append(os.Environ(), "WATCHGLASS_WORKERD="+config)
	starter.Stderr = os.Stderr
	out, err := starter.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, starter.Start())
	address, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	conn, err := net.Dial("tcp", strings.TrimSpace(address))
	require.NoError(t, err)
	defer conn.Close()
	require.NoError(t, starter.Process.Kill())
	require.Error(t, starter.Wait())
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(time.Minute)))
	_, err = conn.Read(make([]byte, 1))
	require.Error(t, err)
	require.NotErrorIs(t, err, os.ErrDeadlineExceeded)
	_, err = net.Dial("tcp", strings.TrimSpace(address))
	require.ErrorIs(t, err, syscall.ECONNREFUSED)
}
