package main

import (
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/host/client"
)

// relay forwards connections from readers to a connector, and can close them.
type relay struct {
	listener net.Listener
	mu       sync.Mutex
	target   string // address of the server; empty for none
	open     []net.Conn
}

func newRelay(t *testing.T) *relay {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	r := &relay{listener: listener}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { r.serve(conn) })
		}
	})
	t.Cleanup(func() {
		listener.Close()
		r.cut()
		serving.Wait()
	})
	return r
}

func (r *relay) serve(near net.Conn) {
	defer near.Close()
	r.mu.Lock()
	far, err := net.Dial("tcp", r.target)
	if err == nil {
		r.open = append(r.open, near, far)
	}
	r.mu.Unlock()
	if err != nil {
		return
	}
	defer far.Close()
	go func() {
		defer far.Close()
		_, _ = io.Copy(far, near)
	}()
	_, _ = io.Copy(near, far)
}

// to makes the relay forward later connections to the server at a URL.
func (r *relay) to(t *testing.T, address string) {
	u, err := url.Parse(address)
	require.NoError(t, err)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.target = u.Host
}

func (r *relay) cut() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, conn := range r.open {
		conn.Close()
	}
	r.open = nil
}

// A watch of a real etcd through a real connector keeps every guarantee, even after a lost
// connection and a restart of the connector. The command verify detects a damaged
// recording of the watch.
func TestVerifyRecordsOfRealProcesses(t *testing.T) {
	needsModule(t)
	store := startEtcd(t)
	change := simulate(t, store)

	dir := t.TempDir()
	atSource, atReader := filepath.Join(dir, "source.jsonl"), filepath.Join(dir, "reader.jsonl")
	source := start(t, "record", "pods", atSource, "--etcd-endpoints", store.Endpoints()[0])
	source.find("recording v1/pods of etcd")
	serve := func() *command {
		return start(t, "serve", "--etcd-endpoints", store.Endpoints()[0], "--listen", "127.0.0.1:0")
	}
	connector := serve()
	network := newRelay(t)
	network.to(t, connector.url())
	reader := start(t, "watch", "pods", "-A", "-o", "json", "--record", atReader, "--server", "ws://"+network.listener.Addr().String()+"/watch")
	reader.find(`"ADDED"`)
	change()
	putPod(t, store, "before-the-cut")
	reader.find("before-the-cut")

	network.cut()
	change()
	putPod(t, store, "resumed")
	reader.find("resumed")

	connector.stop()
	change()
	putPod(t, store, "missed")
	connector = serve()
	network.to(t, connector.url())
	putPod(t, store, "relisted")
	reader.find("relisted")
	change()
	putPod(t, store, "the-last")
	reader.find("the-last")
	assert.Zero(t, reader.stop(), reader.log)
	untilRecorded(t, atSource, "the-last")
	assert.Zero(t, source.stop(), source.log)

	verify := func(files ...string) *command {
		c := start(t, append([]string{"verify"}, files...)...)
		<-c.ended
		return c
	}
	c := verify(atReader, atSource)
	require.Zero(t, c.code, c.log)
	assert.Regexp(t, `^verified: v1/pods of etcd-\w+: 1 watch, \d+ events, \d+ bookmarks?, 1 list, 1 relist; against \d+ changes at the source, from version \d+ to \d+\n$`, c.out.String())
	c = verify(atReader)
	require.Zero(t, c.code, c.log)
	assert.Contains(t, c.out.String(), "without a recording of the source")

	// The command verify rejects a recording that lacks an event.
	content, err := os.ReadFile(atReader)
	require.NoError(t, err)
	var kept []string
	for _, line := range strings.SplitAfter(string(content), "\n") {
		if !strings.Contains(line, `"events"`) || !strings.Contains(line, "resumed") {
			kept = append(kept, line)
		}
	}
	damaged := filepath.Join(dir, "damaged.jsonl")
	require.NoError(t, os.WriteFile(damaged, []byte(strings.Join(kept, "")), 0o600))
	c = verify(damaged)
	assert.Equal(t, 1, c.code)
	assert.Contains(t, c.log.String(), "Error: gap: changes are missing from the recording: "+damaged)

	// With the correct number of lines, only the recording at the source reveals the missing
	// event.
	counted := func(lines int) string { return fmt.Sprintf(`"lines":%d`, lines) }
	lines, left := strings.Count(string(content), "\n"), strings.Join(kept, "")
	left = strings.Replace(left, counted(lines), counted(strings.Count(left, "\n")), 1)
	require.NoError(t, os.WriteFile(damaged, []byte(left), 0o600))
	c = verify(damaged, atSource)
	assert.Equal(t, 1, c.code)
	assert.Contains(t, c.log.String(), "Error: reliable: the events are not the changes of the source: watch 1 (line ")

	c = start(t, "watch", "pods", "--record", atReader, "--server", "ws://"+network.listener.Addr().String()+"/watch")
	<-c.ended
	assert.Contains(t, c.log.String(), "already exists")
}

// A recording that is interrupted before the first list is complete fails, and removes its
// file.
func TestRecordingWithoutStateFails(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer silent.Close()
	name := filepath.Join(t.TempDir(), "source.jsonl")
	c := start(t, "record", "pods", name, "--etcd-endpoints", silent.Addr().String())
	conn, err := silent.Accept()
	require.NoError(t, err)
	defer conn.Close()
	assert.Equal(t, 1, c.stop())
	assert.Contains(t, c.log.String(), "interrupted before the first list of v1/pods was complete: no recording is written")
	assert.NoFileExists(t, name, "the command can be repeated")
}

// A command ends with an error when it cannot write its recording.
func TestUnwritableRecordingEndsCommand(t *testing.T) {
	needsModule(t)
	compiled, err := client.Compile(t.Context(), nil, client.DefaultCacheDir()) // the compiled module exceeds the file size limit below
	require.NoError(t, err)
	require.NoError(t, compiled.Close(t.Context()))
	store := startEtcd(t)
	simulate(t, store)
	connector := start(t, "serve", "--etcd-endpoints", store.Endpoints()[0], "--listen", "127.0.0.1:0")
	server := strings.Replace(connector.url(), "http", "ws", 1) + "/watch"
	path := filepath.Join(t.TempDir(), "recording.jsonl")
	for _, args := range [][]string{
		{"record", "pods", path, "--etcd-endpoints", store.Endpoints()[0]},
		{"watch", "pods", "-A", "--record", path, "--server", server},
	} {
		const limited = `ulimit -f 4; exec "$0" "$@"` // limits files to 4 blocks, which have 512 or 1024 bytes
		cmd := exec.CommandContext(t.Context(), "/bin/sh", append([]string{"-c", limited, os.Args[0]}, args...)...)
		cmd.Env = append(os.Environ(), "WATCHGLASS_MAIN=1")
		var log strings.Builder
		cmd.Stderr = &log
		var exit *exec.ExitError
		require.ErrorAs(t, cmd.Run(), &exit)
		assert.Equal(t, 1, exit.ExitCode(), log.String())
		assert.Equal(t, "Error: recording to "+path+": write "+path+": file too large\n", log.String())
		require.NoError(t, os.Remove(path))
	}
}
