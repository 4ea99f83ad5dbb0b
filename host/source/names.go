package source

import (
	"context"
	"strings"

	"github.com/watchglass/watchglass/core/api"
)

// Description is the discovery information of a resource.
type Description struct {
	api.Resource
	Kind       string
	Singular   string // such as "pod"
	Namespaced bool
	ShortNames []string
	Categories []string // kubectl categories, such as "all"
}

// Describer is a source that can describe all of its resources in one call. For other
// sources, the function [Describe] derives a description from each schema.
type Describer interface {
	Describe(ctx context.Context) ([]Description, error)
}

// Describe returns the description of a resource with the schema s. For well-known
// resources, it adds kubectl's short names and categories.
func Describe(s *api.Schema) Description {
	n := known[s.Resource]
	return Description{s.Resource, s.Kind, strings.ToLower(s.Kind), s.Namespaced, n.short, n.categories}
}

type names struct{ short, categories []string }

var all = []string{"all"}

var known = map[api.Resource]names{
	{Version: "v1", Name: "pods"}:                                                                     {[]string{"po"}, all},
	{Version: "v1", Name: "nodes"}:                                                                    {[]string{"no"}, nil},
	{Version: "v1", Name: "namespaces"}:                                                               {[]string{"ns"}, nil},
	{Version: "v1", Name: "services"}:                                                                 {[]string{"svc"}, all},
	{Version: "v1", Name: "configmaps"}:                                                               {[]string{"cm"}, nil},
	{Version: "v1", Name: "events"}:                                                                   {[]string{"ev"}, nil},
	{Version: "v1", Name: "persistentvolumeclaims"}:                                                   {[]string{"pvc"}, nil},
	{Version: "v1", Name: "serviceaccounts"}:                                                          {[]string{"sa"}, nil},
	{Group: "apps", Version: "v1", Name: "deployments"}:                                               {[]string{"deploy"}, all},
	{Group: "apps", Version: "v1", Name: "replicasets"}:                                               {[]string{"rs"}, all},
	{Group: "apps", Version: "v1", Name: "statefulsets"}:                                              {[]string{"sts"}, all},
	{Group: "apps", Version: "v1", Name: "daemonsets"}:                                                {[]string{"ds"}, all},
	{Group: "batch", Version: "v1", Name: "jobs"}:                                                     {nil, all},
	{Group: "batch", Version: "v1", Name: "cronjobs"}:                                                 {[]string{"cj"}, all},
	{Group: "networking.k8s.io", Version: "v1", Name: "ingresses"}:                                    {[]string{"ing"}, nil},
	{Group: "networking.k8s.io", Version: "v1", Name: "networkpolicies"}:                              {[]string{"netpol"}, nil},
	{Version: "v1", Name: "persistentvolumes"}:                                                        {[]string{"pv"}, nil},
	{Group: "storage.k8s.io", Version: "v1", Name: "storageclasses"}:                                  {[]string{"sc"}, nil},
	{Group: "autoscaling", Version: "v2", Name: "horizontalpodautoscalers"}:                           {[]string{"hpa"}, all},
	{Group: "policy", Version: "v1", Name: "poddisruptionbudgets"}:                                    {[]string{"pdb"}, nil},
	{Group: "apiextensions.k8s.io", Version: "v1", Name: "customresourcedefinitions"}:                 {[]string{"crd", "crds"}, []string{"api-extensions"}},
	{Version: "v1", Name: "endpoints"}:                                                                {[]string{"ep"}, nil},
	{Version: "v1", Name: "limitranges"}:                                                              {[]string{"limits"}, nil},
	{Version: "v1", Name: "resourcequotas"}:                                                           {[]string{"quota"}, nil},
	{Version: "v1", Name: "replicationcontrollers"}:                                                   {[]string{"rc"}, all},
	{Group: "certificates.k8s.io", Version: "v1", Name: "certificatesigningrequests"}:                 {[]string{"csr"}, nil},
	{Group: "scheduling.k8s.io", Version: "v1", Name: "priorityclasses"}:                              {[]string{"pc"}, nil},
	{Group: "networking.k8s.io", Version: "v1", Name: "ipaddresses"}:                                  {[]string{"ip"}, nil},
	{Group: "storage.k8s.io", Version: "v1", Name: "volumeattributesclasses"}:                         {[]string{"vac"}, nil},
	{Group: "apiregistration.k8s.io", Version: "v1", Name: "apiservices"}:                             {nil, []string{"api-extensions"}},
	{Group: "admissionregistration.k8s.io", Version: "v1", Name: "mutatingwebhookconfigurations"}:     {nil, []string{"api-extensions"}},
	{Group: "admissionregistration.k8s.io", Version: "v1", Name: "validatingwebhookconfigurations"}:   {nil, []string{"api-extensions"}},
	{Group: "admissionregistration.k8s.io", Version: "v1", Name: "mutatingadmissionpolicies"}:         {nil, []string{"api-extensions"}},
	{Group: "admissionregistration.k8s.io", Version: "v1", Name: "validatingadmissionpolicies"}:       {nil, []string{"api-extensions"}},
	{Group: "admissionregistration.k8s.io", Version: "v1", Name: "mutatingadmissionpolicybindings"}:   {nil, []string{"api-extensions"}},
	{Group: "admissionregistration.k8s.io", Version: "v1", Name: "validatingadmissionpolicybindings"}: {nil, []string{"api-extensions"}},
}
