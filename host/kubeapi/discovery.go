package kubeapi

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"sort"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/host/internal/apiversion"
)

// These types are the documents of unaggregated discovery, reduced to the members that this
// package writes.
type (
	apiVersions struct {
		Kind     string          `json:"kind"`
		Versions []string        `json:"versions"`
		Servers  []serverAddress `json:"serverAddressByClientCIDRs"`
	}
	serverAddress struct {
		ClientCIDR    string `json:"clientCIDR"`
		ServerAddress string `json:"serverAddress"`
	}
	apiGroupList struct {
		Kind       string     `json:"kind"`
		APIVersion string     `json:"apiVersion"`
		Groups     []apiGroup `json:"groups"`
	}
	apiGroup struct {
		Kind       string         `json:"kind,omitempty"`
		APIVersion string         `json:"apiVersion,omitempty"`
		Name       string         `json:"name"`
		Versions   []groupVersion `json:"versions"`
		Preferred  groupVersion   `json:"preferredVersion"`
	}
	groupVersion struct {
		GroupVersion string `json:"groupVersion"`
		Version      string `json:"version"`
	}
	resourceList struct {
		Kind         string             `json:"kind"`
		APIVersion   string             `json:"apiVersion"`
		GroupVersion string             `json:"groupVersion"`
		Resources    []resourceDocument `json:"resources"`
	}
	resourceDocument struct {
		Name       string   `json:"name"`
		Singular   string   `json:"singularName"`
		Namespaced bool     `json:"namespaced"`
		Kind       string   `json:"kind"`
		Verbs      []string `json:"verbs"`
		ShortNames []string `json:"shortNames,omitempty"`
		Categories []string `json:"categories,omitempty"`
	}
)

// These types are the documents of aggregated discovery.
type (
	discoveryList struct {
		Kind       string           `json:"kind"`
		APIVersion string           `json:"apiVersion"`
		Metadata   struct{}         `json:"metadata"`
		Items      []groupDiscovery `json:"items"`
	}
	groupDiscovery struct {
		Metadata groupName          `json:"metadata"`
		Versions []versionDiscovery `json:"versions"`
	}
	groupName struct {
		Name string `json:"name,omitempty"`
	}
	versionDiscovery struct {
		Version   string              `json:"version"`
		Resources []resourceDiscovery `json:"resources"`
		Freshness string              `json:"freshness"`
	}
	resourceDiscovery struct {
		Resource     string       `json:"resource"`
		ResponseKind responseKind `json:"responseKind"`
		Scope        string       `json:"scope"`
		Singular     string       `json:"singularResource"`
		Verbs        []string     `json:"verbs"`
		ShortNames   []string     `json:"shortNames,omitempty"`
		Categories   []string     `json:"categories,omitempty"`
	}
	responseKind struct {
		Group   string `json:"group"`
		Version string `json:"version"`
		Kind    string `json:"kind"`
	}
)

var (
	readVerbs   = []string{"get", "list", "watch"}
	createVerbs = []string{"create"}
)

func verbsOf(r api.Resource) []string {
	if isSelfReview(r) {
		return createVerbs
	}
	return readVerbs
}

var aggregated = conversion{asDiscovery, discoveryGroup, "v2"}

// discover serves discovery requests.
func (h *Handler) discover(w http.ResponseWriter, r *http.Request, p route) *api.Status {
	var offered []conversion
	if p.kind == coreVersions || p.kind == groups {
		offered = append(offered, aggregated)
	}
	chosen, status := negotiate(r.Header, offered...)
	if status != nil {
		return status
	}
	all, err := h.config.Backend.Resources(r.Context())
	if err != nil {
		return asStatus(err)
	}
	all = slices.Concat(all, selfReviews)
	w.Header().Set("Vary", "Accept")
	if chosen == aggregated {
		return reply(w, contentType+aggregated.params(), aggregate(all, p.kind == groups))
	}
	document := describe(all, p, r.Host)
	if document == nil {
		return notServed(r.URL.Path)
	}
	return reply(w, contentType, document)
}

// describe returns the discovery document for a route, or nil if its group or version is
// not served.
func describe(all []Resource, p route, host string) any {
	switch p.kind {
	case coreVersions:
		return apiVersions{"APIVersions", coreVersionsOf(all), []serverAddress{{"0.0.0.0/0", host}}}
	case groups:
		list := apiGroupList{Kind: "APIGroupList", APIVersion: "v1", Groups: []apiGroup{}}
		for _, name := range groupNames(all) {
			list.Groups = append(list.Groups, describeGroup(all, name))
		}
		return list
	case group:
		if !slices.Contains(groupNames(all), p.resource.Group) {
			return nil
		}
		g := describeGroup(all, p.resource.Group)
		g.Kind, g.APIVersion = "APIGroup", "v1"
		return g
	}
	return describeVersion(all, p.resource)
}

func coreVersionsOf(all []Resource) []string {
	versions := []string{}
	for _, v := range versionsOf(all, "") {
		versions = append(versions, v.Version)
	}
	return versions
}

// groupNames returns the sorted group names, without the core group.
func groupNames(all []Resource) []string {
	var names []string
	for i := range all {
		if g := all[i].Group; g != "" {
			names = append(names, g)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// versionsOf returns the versions of a group, the most stable first.
func versionsOf(all []Resource, group string) []groupVersion {
	var versions []groupVersion
	for i := range all {
		v := groupVersion{all[i].APIVersion(), all[i].Version}
		if all[i].Group == group && !slices.Contains(versions, v) {
			versions = append(versions, v)
		}
	}
	sort.Slice(versions, func(i, j int) bool { return apiversion.MoreStable(versions[i].Version, versions[j].Version) })
	return versions
}

func describeGroup(all []Resource, name string) apiGroup {
	versions := versionsOf(all, name)
	return apiGroup{Name: name, Versions: versions, Preferred: versions[0]}
}

// describeVersion returns the document that lists the resources of a group and version, or
// nil if the version has no resources.
func describeVersion(all []Resource, gv api.Resource) any {
	list := resourceList{Kind: "APIResourceList", APIVersion: "v1", GroupVersion: gv.APIVersion()}
	for _, r := range inVersion(all, gv.Group, gv.Version) {
		list.Resources = append(list.Resources, resourceDocument{
			Name: r.Name, Singular: r.Singular, Namespaced: r.Namespaced, Kind: r.Kind,
			Verbs: verbsOf(r.Resource), ShortNames: r.ShortNames, Categories: r.Categories,
		})
	}
	if list.Resources == nil {
		return nil
	}
	return list
}

// inVersion returns the resources of a group and version, sorted by name.
func inVersion(all []Resource, group, version string) []Resource {
	var found []Resource
	for i := range all {
		if all[i].Group == group && all[i].Version == version {
			found = append(found, all[i])
		}
	}
	slices.SortFunc(found, func(a, b Resource) int { return cmp.Compare(a.Name, b.Name) })
	return found
}

// aggregate returns one discovery document for all groups that have a name or, if named is
// false, for the core group.
func aggregate(all []Resource, named bool) discoveryList {
	list := discoveryList{Kind: asDiscovery, APIVersion: discoveryGroup + "/" + aggregated.version, Items: []groupDiscovery{}}
	names := []string{""}
	if named {
		names = groupNames(all)
	}
	for _, name := range names {
		g := groupDiscovery{Metadata: groupName{name}}
		for _, v := range versionsOf(all, name) {
			g.Versions = append(g.Versions, aggregateVersion(inVersion(all, name, v.Version), v.Version))
		}
		if g.Versions != nil {
			list.Items = append(list.Items, g)
		}
	}
	return list
}

func aggregateVersion(resources []Resource, version string) versionDiscovery {
	d := versionDiscovery{Version: version, Freshness: "Current"}
	for _, r := range resources {
		scope := "Cluster"
		if r.Namespaced {
			scope = "Namespaced"
		}
		d.Resources = append(d.Resources, resourceDiscovery{
			Resource:     r.Name,
			ResponseKind: responseKind{r.Group, r.Version, r.Kind},
			Scope:        scope, Singular: r.Singular, Verbs: verbsOf(r.Resource),
			ShortNames: r.ShortNames, Categories: r.Categories,
		})
	}
	return d
}

// versionDocument is the response of /version.
type versionDocument struct {
	Major        string `json:"major"`
	Minor        string `json:"minor"`
	GitVersion   string `json:"gitVersion"`
	GitCommit    string `json:"gitCommit"`
	GitTreeState string `json:"gitTreeState"`
	BuildDate    string `json:"buildDate"`
	GoVersion    string `json:"goVersion"`
	Compiler     string `json:"compiler"`
	Platform     string `json:"platform"`
}

// reply sends a JSON document with code 200.
func reply(w http.ResponseWriter, mediaType string, document any) *api.Status {
	return replyWith(w, http.StatusOK, mediaType, document)
}

func replyWith(w http.ResponseWriter, code int, mediaType string, document any) *api.Status {
	text, err := json.Marshal(document)
	if err != nil {
		return asStatus(err)
	}
	w.Header().Set("Content-Type", mediaType)
	w.Header().Set("Cache-Control", "no-cache, private")
	w.WriteHeader(code)
	w.Write(append(text, '\n')) // the client may be gone
	return nil
}
