package kubeapitest

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/coretest/sentinel"
)

// Probe is a client that may read one namespace. It sends requests of all kinds, including
// forbidden and malformed ones. It fails the test if a response contains a sentinel that was
// planted in another namespace.
type Probe struct {
	*testing.T
	// Do sends a request and returns the response without decompressing it.
	Do func(method, path string, header http.Header) *http.Response
	// Resource is the path of a resource in all namespaces, such as /api/v1/configmaps.
	Resource string
	// Mine is the namespace that the client may read. Foreign is another namespace.
	// Both namespaces contain an object with the name Known, which contains no sentinel.
	Mine, Foreign, Known string
	Planted              *sentinel.Set
	// MayRead reports whether a sentinel belongs to an object that the client may
	// read.
	MayRead func(name string) bool

	codes map[int]int
	own   map[string]bool // sentinels received
}

// Run sends the requests and checks the responses.
func (p *Probe) Run() {
	p.codes, p.own = map[int]int{}, map[string]bool{}
	token := p.continueToken()
	for _, path := range p.paths(token) {
		p.ask(http.MethodGet, path, "", "gzip")
		p.ask(http.MethodGet, path, "", "identity")
		if strings.Contains(path, "?") {
			continue
		}
		for _, accept := range accepts {
			p.ask(http.MethodGet, path, accept, "gzip")
		}
		p.ask(http.MethodHead, path, "", "identity")
	}
	for _, path := range []string{p.in(p.Mine), p.in(p.Foreign), p.in(p.Foreign) + "/" + p.Known, "/metrics"} {
		for _, method := range []string{http.MethodDelete, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodOptions, "NONSENSE"} {
			p.ask(method, path, "", "identity")
		}
	}
	for _, path := range p.watches() {
		p.ask(http.MethodGet, path, "", "gzip")
	}
	require.NotEmpty(p, p.own, "the client receives the sentinels of its own objects")
	for _, code := range []int{200, 400, 403, 404} {
		require.NotZero(p, p.codes[code], "no response has code %d: %v", code, p.codes)
	}
}

var accepts = []string{
	"application/json;as=Table;v=v1;g=meta.k8s.io,application/json", "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
	"application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io", "application/vnd.kubernetes.protobuf", "nonsense;;=",
}

// in returns the path of the resource in a namespace. If the namespace is empty, the path
// covers all namespaces.
func (p *Probe) in(namespace string) string {
	at := strings.LastIndexByte(p.Resource, '/')
	if namespace == "" {
		return p.Resource
	}
	return p.Resource[:at] + "/namespaces/" + namespace + p.Resource[at:]
}

// paths returns the paths of all requests other than watches. The token continues a paged
// list of the client's namespace.
func (p *Probe) paths(token string) []string {
	paths := []string{
		"/", "/api", "/apis", "/api/v1", "/apis/apps/v1", "/openapi/v2", "/openapi/v3", "/version", "/healthz", "/livez",
		"/readyz", "/readyz?verbose", "/metrics", "/inspect", "/status", "/backend", "/debug/pprof/", "/watch", "/feed",
		p.in(p.Mine) + "/../../" + p.Foreign + p.Resource[strings.LastIndexByte(p.Resource, '/'):],
		p.in(p.Mine + "%2F.." + "%2F" + p.Foreign), "/api/v1/namespaces", "/api/v1/namespaces/" + p.Foreign, "/api/v1/unicorns",
		p.in(p.Mine) + "/" + p.Known + "%2F..%2F" + p.Known, "//" + p.in(p.Foreign),
	}
	for _, namespace := range []string{"none", "%00", strings.Repeat("x", 300)} {
		paths = append(paths, p.in(namespace), p.in(namespace)+"/"+p.Known, p.in(namespace)+"?limit=1")
	}
	for _, namespace := range []string{p.Mine, p.Foreign, ""} {
		at := p.in(namespace)
		paths = append(paths, at+"/"+p.Known, at+"/none", at+"/"+p.Known+"/status", at+"/"+p.Known+"?resourceVersion=1", at+"/"+p.Known+"?resourceVersion=x")
		for _, query := range []url.Values{
			{}, {"limit": {"1"}}, {"limit": {"x"}}, {"resourceVersion": {"0"}}, {"resourceVersion": {"1"}, "resourceVersionMatch": {"Exact"}},
			{"resourceVersion": {"0"}, "resourceVersionMatch": {"NotOlderThan"}}, {"resourceVersionMatch": {"nonsense"}},
			{"fieldSelector": {"metadata.namespace=" + p.Mine}}, {"fieldSelector": {"metadata.namespace=" + p.Foreign}},
			{"fieldSelector": {"metadata.name=" + p.Known}}, {"fieldSelector": {"metadata.name!=" + p.Known}}, {"fieldSelector": {"spec.secret=x"}},
			{"fieldSelector": {"metadata.name"}}, {"labelSelector": {"app=web"}}, {"labelSelector": {"app in ("}}, {"labelSelector": {"!own"}},
			{"limit": {"1"}, "continue": {token}}, {"continue": {token[:len(token)/2]}}, {"continue": {"AAAA"}}, {"pretty": {"true"}},
		} {
			paths = append(paths, at+"?"+query.Encode())
		}
	}
	return paths
}

// watches returns the paths of watches with a timeout of one second.
func (p *Probe) watches() []string {
	var paths []string
	for _, at := range []string{p.in(p.Mine), p.in(p.Foreign), p.in("")} {
		for _, query := range []string{
			"", "&resourceVersion=0", "&resourceVersion=1", "&fieldSelector=metadata.name%3D" + p.Known,
			"&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true",
		} {
			paths = append(paths, at+"?watch=1&timeoutSeconds=1"+query)
		}
	}
	return append(paths, p.in(p.Foreign)+"/"+p.Known+"?watch=1&timeoutSeconds=1", p.in("")+"?watch=1&timeoutSeconds=1&fieldSelector=metadata.namespace%3D"+p.Mine)
}

func (p *Probe) continueToken() string {
	var list struct{ Metadata struct{ Continue string } }
	require.NoError(p, json.Unmarshal(p.ask(http.MethodGet, p.in(p.Mine)+"?limit=1", "", "identity"), &list))
	require.NotEmpty(p, list.Metadata.Continue, "the namespace of the client has several objects")
	return list.Metadata.Continue
}

// ask sends a request, checks every byte of the response, and returns its body.
func (p *Probe) ask(method, path, accept, encoding string) []byte {
	header := http.Header{"Accept-Encoding": {encoding}, "If-None-Match": {`"x"`}}
	if accept != "" {
		header.Set("Accept", accept)
	}
	response := p.Do(method, path, header)
	defer response.Body.Close()
	p.codes[response.StatusCode]++
	body, err := io.ReadAll(response.Body)
	if err != nil { // the part received before an interruption is checked too
		require.True(p, errors.Is(err, io.ErrUnexpectedEOF), "%s %s: %v", method, path, err)
	}
	var raw bytes.Buffer
	require.NoError(p, response.Header.Write(&raw))
	raw.Write(body)
	plain := body
	if response.Header.Get("Content-Encoding") == "gzip" {
		unpacked, err := gzip.NewReader(bytes.NewReader(body))
		require.NoError(p, err)
		plain, err = io.ReadAll(unpacked)
		require.NoError(p, err)
	}
	what := fmt.Sprintf("%s %s, accept %q: %d", method, path, accept, response.StatusCode)
	require.Empty(p, p.Planted.Outside(raw.Bytes(), p.MayRead), what)
	require.Empty(p, p.Planted.Outside(plain, p.MayRead), what)
	for _, name := range p.Planted.Find(plain) {
		p.own[name] = true
	}
	return plain
}
