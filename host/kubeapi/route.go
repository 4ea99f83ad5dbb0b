package kubeapi

import (
	"strings"

	"github.com/watchglass/watchglass/core/api"
)

// place is a parsed path.
type place struct {
	kind      placeKind
	resource  api.Resource // only group and version for resource lists
	namespace string
	name      string
}

type placeKind uint8

const (
	nowhere      placeKind = iota
	coreVersions           // /api
	groups                 // /apis
	group                  // /apis/GROUP
	resources              // /api/v1, /apis/GROUP/VERSION
	version                // /version
	health                 // /healthz, /livez or /readyz; place.name is the name
	collection             // objects of a resource
	object                 // one object
	selfReview             // a review of the user's own rights or identity
)

// findPlace parses a path. The schema later decides whether the resource exists and
// is namespaced.
func findPlace(path string) place {
	segments := strings.Split(strings.TrimSuffix(strings.TrimPrefix(path, "/"), "/"), "/")
	for _, s := range segments {
		if s == "" {
			return place{}
		}
	}
	root, rest := segments[0], segments[1:]
	switch {
	case root == "version" && len(rest) == 0:
		return place{kind: version}
	case (root == "healthz" || root == "livez" || root == "readyz") && len(rest) == 0:
		return place{kind: health, name: root}
	case root == "api" && len(rest) == 0:
		return place{kind: coreVersions}
	case root == "api":
		return findResource(api.Resource{Version: rest[0]}, rest[1:])
	case root == "apis" && len(rest) == 0:
		return place{kind: groups}
	case root == "apis" && len(rest) == 1:
		return place{kind: group, resource: api.Resource{Group: rest[0]}}
	case root == "apis":
		return findResource(api.Resource{Group: rest[0], Version: rest[1]}, rest[2:])
	}
	return place{}
}

// findResource parses the path after group and version.
func findResource(r api.Resource, rest []string) place {
	p := place{resource: r}
	if len(rest) > 2 && rest[0] == "namespaces" {
		p.namespace, rest = rest[1], rest[2:]
	}
	switch len(rest) {
	case 0:
		p.kind = resources
		return p
	case 1:
		p.kind = collection
		if p.namespace == "" && isSelfReview(api.Resource{Group: r.Group, Version: r.Version, Name: rest[0]}) {
			p.kind = selfReview
		}
	case 2:
		p.kind, p.name = object, rest[1]
	default:
		return place{} // a subresource
	}
	p.resource.Name = rest[0]
	return p
}

// fits reports whether the path matches the schema: the path of a namespaced object
// contains its namespace, and any other path contains none.
func (p *place) fits(s *api.Schema) bool {
	if !s.Namespaced {
		return p.namespace == ""
	}
	return p.kind == collection || p.namespace != ""
}
