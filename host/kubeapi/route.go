package kubeapi

import (
	"strings"

	"github.com/watchglass/watchglass/core/api"
)

// route is the parsed path of a request.
type route struct {
	kind      routeKind
	resource  api.Resource // for the kind "resources", only group and version are set
	namespace string
	name      string
}

type routeKind uint8

const (
	unknownRoute routeKind = iota
	coreVersions           // /api
	groups                 // /apis
	group                  // /apis/GROUP
	resources              // /api/v1, /apis/GROUP/VERSION
	version                // /version
	health                 // /healthz, /livez or /readyz; route.name is the last segment
	collection             // objects of a resource
	object                 // one object
	selfReview             // self reviews of a user's rights or identity
)

// parseRoute parses a path. It does not check whether the resource exists or is namespaced;
// the method fits checks the path against the schema later.
func parseRoute(path string) route {
	segments := strings.Split(strings.TrimSuffix(strings.TrimPrefix(path, "/"), "/"), "/")
	for _, s := range segments {
		if s == "" {
			return route{}
		}
	}
	root, rest := segments[0], segments[1:]
	switch {
	case root == "version" && len(rest) == 0:
		return route{kind: version}
	case (root == "healthz" || root == "livez" || root == "readyz") && len(rest) == 0:
		return route{kind: health, name: root}
	case root == "api" && len(rest) == 0:
		return route{kind: coreVersions}
	case root == "api":
		return parseResource(api.Resource{Version: rest[0]}, rest[1:])
	case root == "apis" && len(rest) == 0:
		return route{kind: groups}
	case root == "apis" && len(rest) == 1:
		return route{kind: group, resource: api.Resource{Group: rest[0]}}
	case root == "apis":
		return parseResource(api.Resource{Group: rest[0], Version: rest[1]}, rest[2:])
	}
	return route{}
}

// parseResource parses the segments of a path after its group and version.
func parseResource(r api.Resource, rest []string) route {
	p := route{resource: r}
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
		return route{} // a subresource
	}
	p.resource.Name = rest[0]
	return p
}

// fits reports whether the path matches the schema: the path of a namespaced object
// contains its namespace, and any other path contains none.
func (p *route) fits(s *api.Schema) bool {
	if !s.Namespaced {
		return p.namespace == ""
	}
	return p.kind == collection || p.namespace != ""
}
