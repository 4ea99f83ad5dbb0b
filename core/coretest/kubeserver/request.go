package kubeserver

import (
	"net/url"
	"slices"
	"strings"

	"github.com/watchglass/watchglass/core/api"
)

// Purpose classifies the requests of a client.
type Purpose uint8

const (
	Cluster Purpose = iota // the namespace whose UID identifies the cluster
	Newest                 // a list with limit 1, for the newest version
	List
	Initial // a watch that starts with the state
	Watch
)

// Request is a parsed request.
type Request struct {
	Purpose
	Resource                  string // such as v1/pods
	Namespace, Labels, Fields string
	Query                     url.Values
	ResourceVersion           api.ResourceVersion // zero if unset
}

// ParseRequest parses a path with a query.
func ParseRequest(path string) (Request, error) {
	u, err := url.Parse(path)
	if err != nil {
		return Request{}, err
	}
	r := Request{Query: u.Query()}
	words := strings.Split(strings.TrimPrefix(strings.TrimPrefix(u.Path, "/api/"), "/apis/"), "/")
	if n := len(words); n > 3 && words[n-3] == "namespaces" {
		r.Namespace = words[n-2]
		words = slices.Delete(words, n-3, n-1)
	}
	r.Resource = strings.Join(words, "/")
	r.Labels, r.Fields = r.Query.Get("labelSelector"), r.Query.Get("fieldSelector")
	if text := r.Query.Get("resourceVersion"); text != "" {
		if r.ResourceVersion, err = api.ParseResourceVersion(text); err != nil {
			return Request{}, err
		}
	}
	switch {
	case r.Resource == "v1/namespaces/kube-system":
		r.Purpose = Cluster
	case r.Query.Get("sendInitialEvents") == "true":
		r.Purpose = Initial
	case r.Query.Has("watch"):
		r.Purpose = Watch
	case r.Query.Get("limit") == "1":
		r.Purpose = Newest
	default:
		r.Purpose = List
	}
	return r, nil
}

// Consistent reports whether the response must reflect the newest version.
func (r *Request) Consistent() bool {
	switch r.Purpose {
	case List, Initial:
		return r.ResourceVersion == 0 && !r.Query.Has("continue")
	}
	return r.Purpose == Newest
}

// Page returns the version and the first key of a page, as encoded in the continue token.
func (r *Request) Page() (rv api.ResourceVersion, from api.Key) {
	version, key, _ := strings.Cut(r.Query.Get("continue"), "@")
	rv, _ = api.ParseResourceVersion(version) // an invalid version becomes zero, which has expired
	return rv, api.Key(key)
}
