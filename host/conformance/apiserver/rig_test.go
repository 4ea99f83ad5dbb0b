package apiserver

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/host/embedetcd"
)

// binary is the server under test, see the Makefile.
const binary = "../kubernetes/bin/kube-apiserver-v1.36.3"

// The users of the server, by token.
const (
	admin = "admin-token" // of system:masters
	ann   = "ann-token"
	ben   = "ben-token"
)

// server is one kube-apiserver on an etcd of its own. The package shares one:
// it takes seconds to start.
type server struct {
	dir  string
	etcd *embedetcd.Server
	port int
	cmd  *exec.Cmd
	log  *os.File
	http *http.Client
	seen *deletions
}

var shared *server

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	s, err := start()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer s.close()
	shared = s
	return m.Run()
}

func start() (*server, error) {
	if _, err := os.Stat(binary); err != nil {
		return nil, fmt.Errorf("%s is missing: run make conformance, which builds it", binary)
	}
	dir, err := os.MkdirTemp("", "apiserver")
	if err != nil {
		return nil, err
	}
	s := &server{dir: dir}
	if s.etcd, err = embedetcd.Start(embedetcd.Config{UnsafeNoFsync: true}); err != nil {
		return nil, err
	}
	s.seen = watchDeletions(s.etcd.Client())
	if s.port, err = freePort(); err != nil {
		return nil, err
	}
	if err := s.writeFiles(); err != nil {
		return nil, err
	}
	if s.log, err = os.Create(s.path("log")); err != nil {
		return nil, err
	}
	if s.http, err = rest.HTTPClientFor(s.config(admin)); err != nil {
		return nil, err
	}
	return s, s.launch()
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

func (s *server) path(name string) string { return filepath.Join(s.dir, name) }

func (s *server) writeFiles() error {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return err
	}
	block := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
	tokens := admin + ",admin,1,\"system:masters\"\n" + ann + ",ann,2,\n" + ben + ",ben,3,\n"
	for name, content := range map[string][]byte{"key": block, "tokens": []byte(tokens)} {
		if err := os.WriteFile(s.path(name), content, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// launch starts the process and waits until it is ready. It can be called again
// after stop.
func (s *server) launch() error {
	s.cmd = exec.Command(binary,
		"--etcd-servers="+s.etcd.Endpoints()[0], "--etcd-prefix=/registry", "--storage-media-type=application/json",
		"--bind-address=127.0.0.1", "--advertise-address=127.0.0.1", fmt.Sprint("--secure-port=", s.port),
		"--cert-dir="+s.path("certs"), "--token-auth-file="+s.path("tokens"), "--authorization-mode=RBAC",
		"--service-account-issuer=https://kubernetes.default.svc", "--service-account-key-file="+s.path("key"),
		"--service-account-signing-key-file="+s.path("key"), "--service-cluster-ip-range=10.0.0.0/24",
		"--disable-admission-plugins=ServiceAccount,NamespaceLifecycle", "--endpoint-reconciler-type=none",
		"--etcd-compaction-interval=0")
	s.cmd.Stdout, s.cmd.Stderr = s.log, s.log
	if err := s.cmd.Start(); err != nil {
		return err
	}
	deadline := time.Now().Add(2 * time.Minute)
	for {
		resp, err := s.http.Get(s.config(admin).Host + "/readyz")
		if err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return nil
			}
		}
		if time.Now().After(deadline) {
			log, _ := os.ReadFile(s.path("log"))
			return fmt.Errorf("kube-apiserver is not ready after two minutes; it says:\n%s", log[max(0, len(log)-4000):])
		}
		time.Sleep(50 * time.Millisecond) // polling a process that tells nobody
	}
}

func (s *server) stop() {
	s.cmd.Process.Signal(syscall.SIGKILL)
	s.cmd.Wait()
}

// close stops the server before its etcd: the other way round takes minutes.
func (s *server) close() {
	s.stop()
	s.seen.stop()
	s.etcd.Close()
	s.log.Close()
	os.RemoveAll(s.dir)
}

// config is that of a user. The server signs its own certificate.
func (s *server) config(token string) *rest.Config {
	return &rest.Config{
		Host: fmt.Sprintf("https://127.0.0.1:%d", s.port), BearerToken: token, QPS: -1,
		TLSClientConfig: rest.TLSClientConfig{Insecure: true},
	}
}

// kubeconfig writes the file that leads here.
func (s *server) kubeconfig(t *testing.T, token string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	content := fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"c",
		"clusters":[{"name":"c","cluster":{"server":"https://127.0.0.1:%d","insecure-skip-tls-verify":true}}],
		"users":[{"name":"u","user":{"token":%q}}],
		"contexts":[{"name":"c","context":{"cluster":"c","user":"u"}}]}`, s.port, token)
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

// request sends JSON and returns the answer's code and body.
func (s *server) request(method, path string, body []byte) (int, []byte, error) {
	req, err := http.NewRequest(method, s.config(admin).Host+path, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := s.http.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	return resp.StatusCode, answer, err
}

// must is request for what has to succeed.
func (s *server) must(t *testing.T, method, path, body string) []byte {
	t.Helper()
	code, answer, err := s.request(method, path, []byte(body))
	require.NoError(t, err)
	require.Less(t, code, 300, "%s %s: %s", method, path, answer)
	return answer
}

func collectionPath(resource api.Resource, namespace string) string {
	path := "/api/" + resource.Version
	if resource.Group != "" {
		path = "/apis/" + resource.APIVersion()
	}
	if namespace != "" {
		path += "/namespaces/" + namespace
	}
	return path + "/" + resource.Name
}

func versionOf(object []byte) (api.ResourceVersion, error) {
	var o struct {
		Metadata struct{ ResourceVersion string }
	}
	if err := json.Unmarshal(object, &o); err != nil {
		return 0, err
	}
	return api.ParseResourceVersion(o.Metadata.ResourceVersion)
}

// put creates or replaces an object.
func (s *server) put(resource api.Resource, key api.Key, value []byte) (api.ResourceVersion, error) {
	path := collectionPath(resource, key.Namespace())
	code, answer, err := s.request(http.MethodPut, path+"/"+key.Name(), value)
	if code == http.StatusNotFound {
		code, answer, err = s.request(http.MethodPost, path, value)
	}
	if err == nil && code >= 300 {
		err = fmt.Errorf("put %s: %d %s", key, code, answer)
	}
	if err != nil {
		return 0, err
	}
	return versionOf(answer)
}

// delete removes an object and returns the version of its deletion, which the
// server does not tell: etcd does.
func (s *server) delete(resource api.Resource, key api.Key) (api.ResourceVersion, error) {
	known := s.seen.of(resource, key)
	code, answer, err := s.request(http.MethodDelete, collectionPath(resource, key.Namespace())+"/"+key.Name(), nil)
	if err == nil && code >= 300 {
		err = fmt.Errorf("delete %s: %d %s", key, code, answer)
	}
	if err != nil {
		return 0, err
	}
	return s.seen.after(resource, key, known)
}

// deletions follows etcd and knows when what was deleted last.
type deletions struct {
	cancel context.CancelFunc
	done   chan struct{}

	mu      sync.Mutex
	last    map[string]api.ResourceVersion
	changed chan struct{}
}

func (d *deletions) stop() {
	d.cancel()
	<-d.done
}

func etcdKey(resource api.Resource, key api.Key) string {
	name := resource.Name
	if name == "nodes" {
		name = "minions"
	}
	return "/registry/" + name + "/" + string(key)
}

func (d *deletions) of(resource api.Resource, key api.Key) api.ResourceVersion {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.last[etcdKey(resource, key)]
}

func (d *deletions) after(resource api.Resource, key api.Key, known api.ResourceVersion) (api.ResourceVersion, error) {
	timeout := time.After(30 * time.Second)
	for {
		d.mu.Lock()
		rv, changed := d.last[etcdKey(resource, key)], d.changed
		d.mu.Unlock()
		if rv > known {
			return rv, nil
		}
		select {
		case <-changed:
		case <-timeout:
			return 0, fmt.Errorf("etcd has not heard of the deletion of %s", key)
		}
	}
}

// names are what is there, for comparing.
func (s *server) names(t *testing.T, resource api.Resource, namespace string) []string {
	t.Helper()
	var list struct {
		Items []struct {
			Metadata struct{ Name, Namespace string }
		}
	}
	require.NoError(t, json.Unmarshal(s.must(t, http.MethodGet, collectionPath(resource, namespace), ""), &list))
	var names []string
	for _, o := range list.Items {
		names = append(names, strings.TrimPrefix(o.Metadata.Namespace+"/"+o.Metadata.Name, "/"))
	}
	return names
}
