package apiserver

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/host/conformance/internal/kubeapiserver"
)

// These are the tokens of the server's users.
const (
	admin = kubeapiserver.Admin
	ann   = "ann-token"
	ben   = "ben-token"
)

// server is a kube-apiserver, with a record of the resource versions of deletions. The
// tests share one server, because starting a server takes seconds.
type server struct {
	*kubeapiserver.Server
	http   *http.Client // sends requests as the administrator
	seen   *deletions
	issuer *issuer
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
	issuer, err := startIssuer()
	if err != nil {
		return nil, err
	}
	flags, err := issuer.flags()
	if err != nil {
		issuer.Close()
		return nil, err
	}
	base, err := kubeapiserver.Start(kubeapiserver.Config{
		Users: ann + ",ann,ann,\n" + ben + ",ben,ben,\n",
		Flags: append(flags, "--storage-media-type=application/json", "--disable-admission-plugins=ServiceAccount,NamespaceLifecycle"),
	})
	if err != nil {
		issuer.Close()
		return nil, err
	}
	s := &server{Server: base, seen: watchDeletions(base.Etcd.Client()), issuer: issuer}
	if s.http, err = rest.HTTPClientFor(s.config(admin)); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *server) close() {
	s.Stop()
	s.issuer.Close()
	s.seen.stop()
	if err := s.Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

// config returns the client configuration of a user.
func (s *server) config(token string) *rest.Config {
	return &rest.Config{Host: s.URL, BearerToken: token, QPS: -1, TLSClientConfig: rest.TLSClientConfig{Insecure: true}}
}

// kubeconfig writes the kubeconfig of a user.
func (s *server) kubeconfig(t *testing.T, token string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, s.WriteKubeconfig(path, token))
	return path
}

// request sends JSON as the administrator, and returns the status code and the body
// of the response.
func (s *server) request(method, path string, body []byte) (int, []byte, error) {
	return s.Request(context.Background(), method, s.URL+path, admin, body)
}

// must is like request, and fails the test if the server reports an error.
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

// delete deletes an object and returns the resource version of the deletion. The version
// is read from etcd, because the server's response does not contain it.
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

// deletions watches etcd and records the last deletion of each key.
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
			return 0, fmt.Errorf("the watch of etcd has not received the deletion of %s", key)
		}
	}
}

// names returns the keys of the objects of a resource. An empty namespace means all
// namespaces.
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
