package main

import (
	"bytes"
	"context"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestMain runs the test binary as the command if WATCHGLASS_MAIN is set, so that a test
// can send signals to the command.
func TestMain(m *testing.M) {
	if os.Getenv("WATCHGLASS_MAIN") != "" {
		os.Unsetenv("WATCHGLASS_MAIN") // otherwise, the command rejects the variable as an unknown setting
		main()
	}
	os.Exit(m.Run())
}

// output collects the output of a command and wakes waiting readers.
type output struct {
	mu      sync.Mutex
	text    bytes.Buffer
	changed chan struct{} // capacity 1
}

func newOutput() *output { return &output{changed: make(chan struct{}, 1)} }

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	select {
	case o.changed <- struct{}{}:
	default:
	}
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// command is a command that runs in this process.
type command struct {
	t      *testing.T
	out    *output // stdout
	log    *output // stderr
	cancel context.CancelFunc
	ended  chan struct{}
	code   int // valid after ended
}

func start(t *testing.T, args ...string) *command {
	ctx, cancel := context.WithCancel(context.Background())
	c := &command{t: t, out: newOutput(), log: newOutput(), cancel: cancel, ended: make(chan struct{})}
	go func() {
		defer close(c.ended)
		c.code = run(ctx, args, c.out, c.log)
	}()
	t.Cleanup(func() { c.stop() })
	return c
}

// stop ends the command as an interrupt does, and returns the exit code.
func (c *command) stop() int {
	c.cancel()
	<-c.ended
	return c.code
}

// find waits for a match in the stdout of the command.
func (c *command) find(pattern string) string {
	c.t.Helper()
	return c.findIn(c.out, pattern)
}

// findIn is like find, but searches the given output: stdout or the log.
func (c *command) findIn(out *output, pattern string) string {
	c.t.Helper()
	expression := regexp.MustCompile(pattern)
	timeout := time.NewTimer(time.Minute)
	defer timeout.Stop()
	for {
		if match := expression.FindString(out.String()); match != "" {
			return match
		}
		select {
		case <-out.changed:
		case <-c.ended:
			require.Regexp(c.t, pattern, out.String(), "the command ended: %s", c.log)
		case <-timeout.C:
			require.FailNow(c.t, "timeout", "no %q in:\n%s%s", pattern, c.out, c.log)
		}
	}
}

// url waits until the command prints its address.
func (c *command) url() string {
	_, url, _ := strings.Cut(c.find(`(?:demo|serve): https?://[0-9.:]+`), " ")
	return url
}

func TestHelp(t *testing.T) {
	for _, args := range []string{"", "--help", "demo --help", "serve --help", "push --help", "help serve"} {
		c := start(t, strings.Fields(args)...)
		<-c.ended
		assert.Zero(t, c.code)
		assert.Contains(t, c.out.String(), "Examples:")
	}
}

func TestVersion(t *testing.T) {
	version = "v1.2.3"
	defer func() { version = "" }()
	for _, args := range []string{"version", "--version"} {
		c := start(t, args)
		<-c.ended
		assert.Regexp(t, `^watchglass v1\.2\.3 \(go1\.\S+, \w+/\w+\)\n$`, c.out.String())
	}
}

func TestInvalidArgumentsAreReported(t *testing.T) {
	for args, message := range map[string]string{
		"serv":                             "unknown command \"serv\" for \"watchglass\": did you mean serve?\nSee 'watchglass --help' for usage",
		"nonsense":                         "unknown command \"nonsense\" for \"watchglass\"\nSee 'watchglass --help' for usage",
		"demo --podz 3":                    "unknown flag: --podz\nSee 'watchglass demo --help' for usage",
		"demo extra":                       "extra",
		"demo --pods 0":                    "--pods 0: expected 1 to 1,000,000",
		"demo --pods 1000000000":           "--pods 1000000000: expected 1 to 1,000,000",
		"demo --rate -1":                   "--rate -1: expected 0 or more",
		"demo --rate NaN":                  "--rate NaN: expected 0 or more",
		"demo --rate Inf":                  "--rate +Inf: expected 0 or more",
		"demo --etcd-listen 0.0.0.0:":      "expected 127.0.0.1 and a port",
		"demo --listen nowhere":            `--listen "nowhere": expected an address and a port, such as 127.0.0.1:8080`,
		"demo --listen :99999":             `--listen ":99999": expected an address and a port`,
		"demo --listen 192.0.2.1:8080":     "--listen 192.0.2.1:8080: expected an address of this machine and a port, such as 127.0.0.1:8080",
		"demo --listen 127.0.0.1:web":      "--listen 127.0.0.1:web: expected an address of this machine and a port",
		"token":                            "--key-file and --resources are required, such as --key-file edge.key --resources pods\nSee 'watchglass token --help' for usage",
		"demo --pods many":                 "--pods \"many\": expected a whole number\nSee 'watchglass demo --help' for usage",
		"demo --seed -1":                   `--seed "-1": expected a whole number, 0 or more`,
		"demo --rate fast":                 `--rate "fast": expected a number`,
		"demo --pods 99999999999999999999": `--pods "99999999999999999999": expected a whole number within the range of the flag`,
		"get pods --watch=maybe":           `--watch "maybe": expected true or false`,
		"token --ttl 30d":                  `--ttl "30d": expected a time with its unit, such as 30s, 5m or 1h30m`,
		"help nonsense":                    "unknown command \"nonsense\" for \"watchglass\"",
		"help get pods":                    `unknown command "pods" for "watchglass get"`,
		"get pods --server nowhere":        `--server "nowhere": expected a URL such as ws://127.0.0.1:8080/watch`,
		"get pods --server ws://":          `--server "ws://": expected a URL`,
		"get pods --server ftp://x":        `--server "ftp://x": expected a URL`,
		"get pods --namespace=":            `--namespace "": expected a name; -A reads all namespaces`,
		"get pods --token \u00e4":          "--token: expected ASCII characters without spaces",
		"serve --etcd-endpoints x:1 --etcd-prefix registry": `--etcd-prefix "registry": expected a prefix that begins with a slash`,
		"serve --max-requests 0":                            `--max-requests "0": expected a whole number from 1 to 2147483647`,
		"serve --max-evaluation-rate many":                  `--max-evaluation-rate "many": expected a whole number from 1 to 2147483647`,
		"serve --max-token-bytes -1":                        `--max-token-bytes "-1": expected a positive size such as 512KiB, 16MiB or 2GiB`,
		"serve --hello-timeout 0s":                          `--hello-timeout "0s": expected a positive duration such as 30s or 1m30s`,
		"demo --log-level loud":                             `--log-level "loud": expected debug, info, warn or error`,
		"demo --log-format xml":                             `--log-format "xml": expected text or json`,
		"get":                                               "too few arguments, expected: watchglass get RESOURCE [NAME] [flags]\nSee 'watchglass get --help' for usage",
		"watch pods a b":                                    `unexpected argument "b", expected: watchglass watch RESOURCE [NAME]`,
		"push":                                              "too few arguments, expected: watchglass push URL --resources",
		"record pods":                                       "too few arguments, expected: watchglass record RESOURCE FILE",
		"verify":                                            "too few arguments, expected: watchglass verify FILE...",
		"version extra":                                     `unexpected argument "extra", expected: watchglass version`,
		"serve":                                             "no source is selected: give --kubeconfig FILE",
		"serve --etcd-endpoints x:1 --etcd-cert c":                    "--etcd-cert and --etcd-key belong together",
		"serve --in-cluster":                                          "not running in a pod",
		"serve --kubeconfig /no/file":                                 "/no/file",
		"serve --etcd-endpoints x:1 --listen :0":                      "every client that can reach",
		"serve --etcd-endpoints x:1 --admin :0":                       "expected a loopback address",
		"serve --etcd-endpoints x:1 --auth what":                      `--auth "what": expected none, token-file, kube, proxy or oidc`,
		"serve --etcd-endpoints x:1 --auth kube":                      "--auth kube requires a kube-apiserver",
		"serve --etcd-endpoints x:1 --auth token-file":                "--auth token-file requires --token-file FILE",
		"serve --etcd-endpoints x:1 --tls-cert-file x":                "belong together",
		"serve --etcd-endpoints x:1 --auth none --token-file main.go": "--token-file requires --auth token-file",
		"serve --in-cluster --etcd-endpoints x:1":                     "exclude each other",
		"serve --in-cluster --kubeconfig main.go":                     "--in-cluster and --kubeconfig or --context exclude each other",
		"serve --in-cluster --metrics-interval 1s":                    "--metrics-interval 1s: expected 5s to 5m0s, or 0 for no metrics",
		"serve --in-cluster --etcd-prefix /x":                         "--etcd-prefix requires --etcd-endpoints",
		"serve --etcd-cert c":                                         "--etcd-cert requires --etcd-endpoints",
		"demo --kubeconfig main.go --pods 10":                         "--pods configures the simulated cluster: it cannot be used with --kubeconfig, --context or --in-cluster",
		"serve --etcd-endpoints nowhere":                              `--etcd-endpoints "nowhere": expected host:port or a URL such as https://10.0.0.1:2379`,
		"serve --etcd-endpoints x:1,ftp://x:1":                        `--etcd-endpoints "ftp://x:1": expected host:port`,
		"serve --etcd-endpoints x:99999":                              `--etcd-endpoints "x:99999": expected host:port`,
		"serve --etcd-endpoints x:1,":                                 `--etcd-endpoints "": expected host:port`,
		"serve --etcd-endpoints x:1 --kube-api 0.0.0.0:0":             "or listen on loopback, such as 127.0.0.1:8080",
		"demo --kubeconfig /no/file":                                  "/no/file",
		"serve --etcd-endpoints x:1 --etcd-cacert /no/file":           "--etcd-cacert: open /no/file",
		"serve --etcd-endpoints x:1 --token-file /no/file":            "--token-file: open /no/file",
		"serve --etcd-endpoints x:1 --token-file /dev/null":           "the file is empty",
		"serve --etcd-endpoints x:1 --metrics-on-admin":               "--metrics-on-admin requires --admin ADDRESS",
		"serve --etcd-endpoints x:1 --preload gadgets":                `--preload: resource "gadgets" is not built in: `,
		"serve --etcd-endpoints x:1 --shutdown-delay -1s":             "--shutdown-delay -1s: expected 0s or more",
		"serve --etcd-endpoints x:1 --drain-timeout 0s":               "--drain-timeout 0s: expected more than 0s, such as 10s",
		"serve --etcd-endpoints x:1 --audit-log /no/file":             "--audit-log: audit log: open /no/file",
		"serve --etcd-endpoints x:1 --trusted-proxy proxy":            `--trusted-proxy "proxy": expected an address such as 10.0.0.1`,
		"serve --etcd-endpoints x:1 --etcd-cacert main.go":            "the file contains no PEM certificate",
		"serve --etcd-endpoints x:1 --allow-origin foo.test":          `allowed origin "foo.test": expected scheme and host`,

		"serve --etcd-endpoints x:1 --auth nonsense":                  `--auth "nonsense": expected none, token-file, kube, proxy or oidc`,
		"serve --etcd-endpoints x:1 --auth proxy":                     "--auth proxy requires --tls-cert-file",
		"serve --etcd-endpoints x:1 --auth proxy --tls-cert-file c":   "--auth proxy requires --requestheader-client-ca-file",
		"serve --etcd-endpoints x:1 --requestheader-client-ca-file c": "--requestheader-client-ca-file requires --auth proxy, and --auth is none",
		"serve --etcd-endpoints x:1 --auth-cookie c":                  "--auth-cookie requires --auth token-file, kube or oidc, and --auth is none",
		"serve --etcd-endpoints x:1 --auth oidc":                      "--auth oidc requires --oidc-issuer-url",
		"serve --etcd-endpoints x:1 --oidc-issuer-url https://i":      "--oidc-issuer-url requires --auth oidc, and --auth is none",

		"serve --etcd-endpoints x:1 --auth oidc --oidc-issuer-url https://i":                    "--auth oidc requires --oidc-client-id",
		"serve --etcd-endpoints x:1 --auth oidc --oidc-issuer-url https://i --oidc-client-id c": "--auth oidc requires a kube-apiserver",

		"serve --etcd-endpoints http://a:hunter2@x:1":                          `--etcd-endpoints "http://xxxxx@x:1": expected host:port`,
		"get pods --server ws://a:hunter2%zz@x/watch":                          `--server "ws://xxxxx@x/watch": expected a URL`,
		"get pods --server ws://a:hunter2@x/watch":                             `"ws://xxxxx@x/watch?`,
		"inspect --admin http://a:hunter2%zz@x":                                `--admin "http://xxxxx@x": expected an address`,
		"push wss://a:hunter2%zz@x/feed --resources pods --etcd-endpoints x:1": `edge wss://xxxxx@x/feed: the URL contains credentials`,
	} {
		t.Run(args, func(t *testing.T) {
			c := start(t, append(strings.Fields(args), listenFlag(args)...)...)
			<-c.ended
			assert.Equal(t, 1, c.code)
			assert.Contains(t, c.log.String(), "Error: ")
			assert.Contains(t, c.log.String(), message)
			assert.NotContains(t, c.log.String(), "Usage:")
			assert.NotContains(t, c.log.String(), "hunter2", "passwords are redacted")
		})
	}
}

// The demo refuses invalid flags before it starts etcd or writes objects.
func TestDemoRefusesFlagsBeforeItStarts(t *testing.T) {
	for args, message := range map[string]string{
		"--allow-origin nonsense":              `--allow-origin: allowed origin "nonsense": expected scheme and host`,
		"--kube-api nonsense":                  "--kube-api",
		"--admin :0":                           "expected a loopback address",
		"--log-format nonsense":                "--log-format",
		"--rate -1":                            "--rate -1",
		"--pods 0":                             "--pods 0",
		"--etcd-listen nonsense":               "--etcd-listen",
		"--etcd-endpoint-file /no/such/folder": "--etcd-endpoint-file",
	} {
		t.Run(args, func(t *testing.T) {
			c := start(t, append([]string{"demo", "--listen", "127.0.0.1:0"}, strings.Fields(args)...)...)
			<-c.ended
			assert.Equal(t, 1, c.code)
			assert.Contains(t, c.log.String(), message)
			assert.Empty(t, c.out.String(), "nothing was started")
		})
	}
}

func listenFlag(args string) []string {
	command, _, _ := strings.Cut(args, " ")
	if serves := command == "demo" || command == "serve"; !serves || strings.Contains(args, "--listen") || !strings.Contains(args, "--") {
		return nil
	}
	return []string{"--listen", "127.0.0.1:0"}
}

func TestPortInUseNamesTheFlag(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	address := taken.Addr().String()
	for _, args := range [][]string{
		{"demo", "--listen", address},
		{"serve", "--etcd-endpoints", "127.0.0.1:1", "--listen", address},
	} {
		c := start(t, args...)
		<-c.ended
		assert.Equal(t, 1, c.code)
		assert.Contains(t, c.log.String(), address+" is in use by another program")
		assert.Contains(t, c.log.String(), "--listen 127.0.0.1:0")
	}
	c := start(t, "demo", "--listen", "127.0.0.1:0", "--etcd-listen", address)
	<-c.ended
	assert.Equal(t, 1, c.code)
	assert.Contains(t, c.log.String(), "choose another port with --etcd-listen")
}

func TestSignalEndsTheDemoCleanly(t *testing.T) {
	// Under nohup, this process and its children ignore hangups. While this process handles
	// hangups, its new children do not ignore them.
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	defer signal.Stop(hangup)
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		temp := t.TempDir()
		cmd := demoProcess(t, temp)
		out := newOutput()
		cmd.Stdout, cmd.Stderr = out, out
		require.NoError(t, cmd.Start())
		c := &command{t: t, out: out, log: newOutput(), ended: make(chan struct{})}
		var wait error
		go func() {
			defer close(c.ended)
			wait = cmd.Wait()
		}()
		c.find("watchglass demo: http")
		require.NoError(t, cmd.Process.Signal(sig))
		<-c.ended
		assert.NoError(t, wait, out)
		left, err := filepath.Glob(filepath.Join(temp, "*"))
		require.NoError(t, err)
		assert.Empty(t, left, "the demo deletes its data")
	}
}

// demoProcess returns a small demo that stores its files in temp. The caller starts it.
func demoProcess(t *testing.T, temp string) *exec.Cmd {
	cmd := exec.CommandContext(t.Context(), os.Args[0], "demo", "--pods", "20", "--listen", "127.0.0.1:0")
	cmd.Env = append(os.Environ(), "WATCHGLASS_MAIN=1", "TMPDIR="+temp)
	return cmd
}

func TestDemoWithClosedOutputCleansUp(t *testing.T) {
	temp := t.TempDir()
	cmd := demoProcess(t, temp)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	line := make([]byte, len("etcd:"))
	_, err = io.ReadFull(out, line)
	require.NoError(t, err)
	require.NoError(t, out.Close(), "as with head after its last line")
	assert.NoError(t, cmd.Wait())
	left, err := filepath.Glob(filepath.Join(temp, "*"))
	require.NoError(t, err)
	assert.Empty(t, left)
}

// When the disk is full, the demo ends with the error of etcd and without a stack
// trace.
func TestFullDiskIsReported(t *testing.T) {
	temp := t.TempDir()
	demo := demoProcess(t, temp)
	cmd := exec.CommandContext(t.Context(), "/bin/sh", append([]string{"-c", `ulimit -f 4; exec "$0" "$@"`}, demo.Args...)...)
	cmd.Env = demo.Env
	out, err := cmd.CombinedOutput()
	assert.Error(t, err)
	assert.Regexp(t, `^Error: the embedded etcd cannot continue: .*file too large\n$`, string(out))
	left, err := filepath.Glob(filepath.Join(temp, "*"))
	require.NoError(t, err)
	assert.Empty(t, left)
}

// The demo continues when a client disconnects during a write. A closed standard output
// causes a similar error, which ends the demo.
func TestDisconnectedClientDoesNotEndDemo(t *testing.T) {
	cmd := demoProcess(t, t.TempDir())
	cmd.Args = append(cmd.Args, "--kube-api", "127.0.0.1:0", "--pods", "300", "--rate", "2000")
	out := newOutput()
	cmd.Stdout, cmd.Stderr = out, out
	require.NoError(t, cmd.Start())
	c := &command{t: t, out: out, log: newOutput(), ended: make(chan struct{})}
	var wait error
	go func() {
		defer close(c.ended)
		wait = cmd.Wait()
	}()
	url := c.kubeURL()
	for range 100 {
		conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
		require.NoError(t, err, out)
		_, err = io.WriteString(conn, "GET /api/v1/pods?watch=1 HTTP/1.1\r\nHost: localhost\r\n\r\n")
		require.NoError(t, err)
		_, err = io.ReadFull(conn, make([]byte, 1<<19)) // the complete state, and the first changes
		require.NoError(t, err, out)
		require.NoError(t, conn.(*net.TCPConn).SetLinger(0))
		require.NoError(t, conn.Close())
	}
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	<-c.ended
	assert.NoError(t, wait, out)
}
