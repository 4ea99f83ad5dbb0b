package embedetcd

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// until is an environment variable that makes the test binary run a server until the test
// kills the process.
const until = "EMBEDETCD_RUN_UNTIL_KILLED"

func TestMain(m *testing.M) {
	if os.Getenv(until) == "" {
		os.Exit(m.Run())
	}
	server, err := Start(Config{UnsafeNoFsync: true})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(server.temp.path)
	select {}
}

// When a server starts, it removes the directory that a killed process has left behind.
func TestDirectoryOfKilledProcessIsRemoved(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), until+"=1")
	child.Stderr = os.Stderr
	stdout, err := child.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	line, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err)
	left := strings.TrimSpace(line)
	// A directory without a lock file stays, because it belongs to another program or is not
	// complete yet.
	foreign := filepath.Join(os.TempDir(), tempPrefix+"foreign")
	require.NoError(t, os.Mkdir(foreign, 0o700))

	beside, err := Start(Config{UnsafeNoFsync: true})
	require.NoError(t, err)
	defer beside.Close()
	require.DirExists(t, left, "the process of the directory is still running")

	require.NoError(t, child.Process.Kill())
	require.Error(t, child.Wait())
	require.DirExists(t, left)
	after, err := Start(Config{UnsafeNoFsync: true})
	require.NoError(t, err)
	defer after.Close()
	require.NoDirExists(t, left)
	require.DirExists(t, beside.temp.path)
	require.DirExists(t, foreign)
}
