package apiserver

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/catalog"
	"github.com/watchglass/watchglass/host/connector"
	"github.com/watchglass/watchglass/host/kubeapi"
	"github.com/watchglass/watchglass/host/source"
	"github.com/watchglass/watchglass/host/source/etcd"
	"github.com/watchglass/watchglass/host/source/kube"
)

// certificateRequest is a certificate signing request in base64. It is valid, because the
// server rejects invalid requests.
var certificateRequest = newCertificateRequest()

func newCertificateRequest() string {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: pkix.Name{CommonName: "x"}}, key)
	if err != nil {
		panic(err)
	}
	return base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}))
}

// section is the table of one resource in the output of kubectl, with its header and its
// sorted rows.
type section struct {
	header []string
	rows   [][]string
}

var gap = regexp.MustCompile(`\s{3,}`)

// sections parses the output of kubectl get, which contains one table per resource.
func sections(output string) []section {
	var all []section
	for table := range strings.SplitSeq(strings.TrimSpace(output), "\n\n") {
		lines := strings.Split(table, "\n")
		starts := []int{0}
		for _, g := range gap.FindAllStringIndex(strings.TrimRight(lines[0], " "), -1) {
			starts = append(starts, g[1])
		}
		s := section{header: cut(lines[0], starts)}
		for _, line := range lines[1:] {
			s.rows = append(s.rows, cut(line, starts))
		}
		slices.SortFunc(s.rows, slices.Compare)
		all = append(all, s)
	}
	return all
}

// cut splits a line at the starts of columns.
func cut(line string, starts []int) []string {
	var cells []string
	for i, start := range starts {
		end := len(line)
		if i+1 < len(starts) {
			end = min(end, starts[i+1])
		}
		cells = append(cells, strings.TrimSpace(line[min(start, len(line)):end]))
	}
	return cells
}

var someAge = regexp.MustCompile(`^(?:\d+ \()?((?:\d+[ydhms])+)(?: ago\))?$`)

// sameCell reports whether two cells are equal, except for ages, which may differ by at
// most tolerance.
func sameCell(a, b string, tolerance time.Duration) bool {
	if a == b {
		return true
	}
	first, second := someAge.FindStringSubmatch(a), someAge.FindStringSubmatch(b)
	if first == nil || second == nil || strings.Replace(a, first[1], "", 1) != strings.Replace(b, second[1], "", 1) {
		return false
	}
	difference := duration(first[1]) - duration(second[1])
	return max(difference, -difference) <= tolerance
}

func duration(text string) time.Duration {
	units := map[byte]time.Duration{'s': time.Second, 'm': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour, 'y': 365 * 24 * time.Hour}
	var total, n time.Duration
	for i := range len(text) {
		if unit := units[text[i]]; unit != 0 {
			total, n = total+n*unit, 0
		} else {
			n = 10*n + time.Duration(text[i]-'0')
		}
	}
	return total
}

// sameTables compares the outputs of kubectl cell by cell. Ages may differ by the time
// between the two outputs, plus a second. It returns the number of compared cells.
func sameTables(t *testing.T, theirs, ours string, elapsed time.Duration) (cells int) {
	t.Helper()
	want, got := sections(theirs), sections(ours)
	require.Len(t, got, len(want), "%s\n%s", theirs, ours)
	for i := range want {
		if !assert.Equal(t, want[i].header, got[i].header) || !assert.Len(t, got[i].rows, len(want[i].rows), "%v", want[i].rows) {
			continue
		}
		for j, row := range want[i].rows {
			for k, cell := range row {
				cells++
				assert.True(t, sameCell(cell, got[i].rows[j][k], elapsed+time.Second),
					"%s of %v: kube-apiserver has %q, and we have %q", want[i].header[k], row, cell, got[i].rows[j][k])
			}
		}
	}
	return cells
}

// served serves the Kubernetes API from a source, and returns the URL.
func served(t *testing.T, src source.Source) string {
	c := connector.New(connector.Config{Source: src, Logger: slog.New(slog.DiscardHandler)})
	handler := kubeapi.New(kubeapi.Config{Backend: c.Backend()})
	server := httptest.NewServer(handler)
	t.Cleanup(func() {
		handler.Stop()
		server.Close()
		assert.NoError(t, c.Close(context.Background()))
	})
	return server.URL
}

// get runs kubectl get for the given resources, and returns the output. If server is
// empty, kubectl reads from the kube-apiserver.
func get(t *testing.T, server, resources, format string) string {
	t.Helper()
	args := []string{"get", resources, "--all-namespaces", "--cache-dir", filepath.Join(t.TempDir(), "cache")}
	if server == "" {
		args = append(args, "--kubeconfig", shared.kubeconfig(t, admin))
	} else {
		args = append(args, "--server", server)
	}
	if format != "" {
		args = append(args, "-o", format)
	}
	var complaint strings.Builder
	command := exec.Command("../kubernetes/bin/kubectl-v1.36.3", args...)
	command.Stderr = &complaint
	command.Env = []string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH")} // no other configuration
	out, err := command.Output()
	require.NoError(t, err, complaint.String())
	return string(out)
}

// names returns resources in the notation of kubectl, such as "deployments.v1.apps".
func names(schemas []api.Schema) string {
	var all []string
	for _, s := range schemas {
		name := s.Resource.Name
		if s.Resource.Group != "" {
			name += "." + s.Resource.Version + "." + s.Resource.Group
		}
		all = append(all, name)
	}
	return strings.Join(all, ",")
}

// kubectl prints the same cells from watchglass and from kube-apiserver, for every
// built-in resource and two custom resources. Direct mode returns the same cells for the
// built-in resources.
func TestKubectlPrintsTheCellsOfTheServer(t *testing.T) {
	fill(t)
	hard(t)
	fromEtcd, err := etcd.New(shared.Etcd.Client(), etcd.Config{Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	builtin := names(catalog.All())
	for name, c := range map[string]struct {
		source    source.Source
		resources string
	}{
		"etcd": {fromEtcd, builtin},
		"kube": {newSource(t, admin, kube.Config{}), builtin + ",gauges.v1.stable.example.com,plains.v1.stable.example.com"},
	} {
		t.Run(name, func(t *testing.T) {
			server := served(t, c.source)
			for _, format := range []string{"", "wide"} {
				began := time.Now()
				theirs := get(t, "", c.resources, format)
				cells := sameTables(t, theirs, get(t, server, c.resources, format), time.Since(began))
				t.Logf("%d cells in %d tables", cells, len(sections(theirs)))
				assert.Len(t, sections(theirs), strings.Count(c.resources, ",")+1)
			}
		})
	}
	t.Run("direct", compareDirect)
}

// hard creates objects whose cells are hard to compute, and deletes them after the
// test.
func hard(t *testing.T) {
	t.Helper()
	create := func(resource, namespace, object string) {
		t.Helper()
		path := createObject(t, resource, namespace, object)
		t.Cleanup(func() { discard(t, path) })
	}
	for _, o := range hardObjects {
		create(o.resource, o.namespace, o.object)
	}
	for _, definition := range []string{gauges, plains} {
		create("apiextensions.k8s.io/v1/customresourcedefinitions", "", definition)
	}
	for _, name := range []string{"gauges", "plains"} {
		kind := strings.ToUpper(name[:1]) + name[1:len(name)-1]
		object := `{"apiVersion":"stable.example.com/v1","kind":"` + kind + `","metadata":{"name":"g"},"spec":{"level":3,"ratio":0.5,"on":true,"since":"2026-01-02T03:04:05Z","text":"a b"}}`
		require.Eventually(t, func() bool {
			code, _, err := shared.request(http.MethodPost, "/apis/stable.example.com/v1/namespaces/all/"+name, []byte(object))
			return err == nil && code < 300
		}, patience, pollInterval)
	}
}

// createObject creates an object with its status. If the object has the finalizer
// example.com/keep, createObject also deletes the object, which then stays terminating.
// It returns the path of the object.
func createObject(t *testing.T, resource, namespace, object string) (path string) {
	t.Helper()
	r, err := api.ParseResource(resource)
	require.NoError(t, err)
	var o struct {
		Metadata struct {
			Name       string
			Finalizers []string
		}
		Status json.RawMessage
	}
	require.NoError(t, json.Unmarshal([]byte(object), &o))
	collection := collectionPath(r, namespace)
	shared.must(t, http.MethodPost, collection, object)
	path = collection + "/" + o.Metadata.Name
	if o.Status != nil {
		var current map[string]any
		require.NoError(t, json.Unmarshal(shared.must(t, http.MethodGet, path, ""), &current))
		current["status"] = o.Status
		body, err := json.Marshal(current)
		require.NoError(t, err)
		shared.must(t, http.MethodPut, path+"/status", string(body))
	}
	if slices.Contains(o.Metadata.Finalizers, "example.com/keep") {
		shared.must(t, http.MethodDelete, path, "")
	}
	return path
}

// discard deletes an object without its finalizers, and waits until it is gone, so that the
// next run can create it again. The server itself removes the finalizer of a definition, after
// the objects of that definition.
func discard(t *testing.T, path string) {
	t.Helper()
	code, text, err := shared.request(http.MethodDelete, path+"?gracePeriodSeconds=0", nil)
	require.NoError(t, err)
	require.True(t, code < 300 || code == http.StatusNotFound, "%s", text)
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		code, text, err := shared.request(http.MethodGet, path, nil)
		require.NoError(c, err)
		if code == http.StatusNotFound {
			return
		}
		var current map[string]any
		require.NoError(c, json.Unmarshal(text, &current))
		metadata := current["metadata"].(map[string]any)
		if metadata["finalizers"] != nil && !strings.Contains(path, "/customresourcedefinitions/") {
			delete(metadata, "finalizers")
			body, err := json.Marshal(current)
			require.NoError(c, err)
			_, _, err = shared.request(http.MethodPut, path, body) // after a conflict, the next attempt reads the object again
			require.NoError(c, err)
		}
		assert.Fail(c, "the object still exists")
	}, patience, pollInterval, path)
}
