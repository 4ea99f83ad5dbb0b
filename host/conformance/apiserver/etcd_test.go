package apiserver

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/catalog"
	"github.com/watchglass/watchglass/host/source/etcd"
)

func watchDeletions(client *clientv3.Client) *deletions {
	ctx, cancel := context.WithCancel(context.Background())
	d := &deletions{cancel: cancel, done: make(chan struct{}), last: map[string]api.ResourceVersion{}, changed: make(chan struct{})}
	events := client.Watch(ctx, "/registry/", clientv3.WithPrefix(), clientv3.WithFilterPut())
	go func() {
		defer close(d.done)
		for resp := range events {
			d.mu.Lock()
			for _, e := range resp.Events {
				d.last[string(e.Kv.Key)] = api.ResourceVersion(e.Kv.ModRevision)
			}
			close(d.changed)
			d.changed = make(chan struct{})
			d.mu.Unlock()
		}
	}()
	return d
}

// specs maps resources to JSON members, such as the spec, of the objects that fill creates.
// The function fill creates no objects of other resources.
var specs = map[string]string{
	"v1/pods":                                   `"spec":{"containers":[{"name":"c","image":"example.com/c"}]}`,
	"v1/nodes":                                  `"spec":{}`,
	"v1/services":                               `"spec":{"ports":[{"port":80}]}`,
	"v1/configmaps":                             `"data":{"a":"b"}`,
	"v1/secrets":                                `"data":{}`,
	"v1/events":                                 `"involvedObject":{"kind":"Pod","namespace":"all","name":"x"},"type":"Warning","reason":"Why","message":"what","count":3,"source":{"component":"me"},"firstTimestamp":"2026-01-02T03:04:05Z","lastTimestamp":"2026-01-02T03:04:05Z"`,
	"v1/persistentvolumeclaims":                 `"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}`,
	"v1/serviceaccounts":                        `"secrets":[]`,
	"v1/persistentvolumes":                      `"spec":{"capacity":{"storage":"1Gi"},"accessModes":["ReadWriteOnce"],"hostPath":{"path":"/x"}}`,
	"apps/v1/deployments":                       `"spec":{"selector":{"matchLabels":{"a":"b"}},"template":` + template + `}`,
	"apps/v1/replicasets":                       `"spec":{"selector":{"matchLabels":{"a":"b"}},"template":` + template + `}`,
	"apps/v1/statefulsets":                      `"spec":{"serviceName":"x","selector":{"matchLabels":{"a":"b"}},"template":` + template + `}`,
	"apps/v1/daemonsets":                        `"spec":{"selector":{"matchLabels":{"a":"b"}},"template":` + template + `}`,
	"batch/v1/jobs":                             `"spec":{"template":` + once + `}`,
	"batch/v1/cronjobs":                         `"spec":{"schedule":"* * * * *","jobTemplate":{"spec":{"template":` + once + `}}}`,
	"networking.k8s.io/v1/ingresses":            `"spec":{"defaultBackend":{"service":{"name":"x","port":{"number":80}}}}`,
	"networking.k8s.io/v1/networkpolicies":      `"spec":{"podSelector":{},"policyTypes":["Ingress"]}`,
	"storage.k8s.io/v1/storageclasses":          `"provisioner":"example.com/p"`,
	"rbac.authorization.k8s.io/v1/roles":        `"rules":[]`,
	"rbac.authorization.k8s.io/v1/rolebindings": `"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"Role","name":"x"}`,
	"discovery.k8s.io/v1/endpointslices":        `"addressType":"IPv4","endpoints":[{"addresses":["10.1.2.3"]}],"ports":[{"port":80,"protocol":"TCP","name":""}]`,
	"autoscaling/v2/horizontalpodautoscalers":   `"spec":{"scaleTargetRef":{"kind":"Deployment","name":"x","apiVersion":"apps/v1"},"minReplicas":2,"maxReplicas":5}`,
	"policy/v1/poddisruptionbudgets":            `"spec":{"minAvailable":1,"selector":{"matchLabels":{"a":"b"}}}`,
	"coordination.k8s.io/v1/leases":             `"spec":{"holderIdentity":"me"}`,
	"v1/endpoints":                              `"subsets":[{"addresses":[{"ip":"10.0.0.1"},{"ip":"10.0.0.2"}],"ports":[{"name":"a","port":80},{"name":"b","port":81}]}]`,
	"v1/limitranges":                            `"spec":{"limits":[]}`,
	"v1/podtemplates":                           `"template":` + template,
	"v1/replicationcontrollers":                 `"spec":{"replicas":2,"selector":{"a":"b"},"template":` + template + `}`,
	"v1/resourcequotas":                         `"spec":{"hard":{"pods":"4","limits.cpu":"2","requests.memory":"1Gi"}}`,
	"apps/v1/controllerrevisions":               `"revision":7,"data":{}`,
	"networking.k8s.io/v1/ingressclasses":       `"spec":{"controller":"example.com/c","parameters":{"apiGroup":"example.com","kind":"Params","name":"p"}}`,
	"storage.k8s.io/v1/csidrivers":              `"spec":{"tokenRequests":[{"audience":"a"},{"audience":"b"}],"volumeLifecycleModes":["Persistent","Ephemeral"]}`,
	"storage.k8s.io/v1/csinodes":                `"spec":{"drivers":[{"name":"d","nodeID":"n"}]}`,
	"storage.k8s.io/v1/csistoragecapacities":    `"storageClassName":"x","capacity":"10Gi"`,
	"storage.k8s.io/v1/volumeattachments":       `"spec":{"attacher":"a.example.com","nodeName":"x","source":{"persistentVolumeName":"x"}}`,
	"storage.k8s.io/v1/volumeattributesclasses": `"driverName":"example.com/d","parameters":{"a":"b"}`,
	"admissionregistration.k8s.io/v1/mutatingwebhookconfigurations":   `"webhooks":[]`,
	"admissionregistration.k8s.io/v1/validatingwebhookconfigurations": `"webhooks":[]`,
	"admissionregistration.k8s.io/v1/validatingadmissionpolicies": `"spec":{"paramKind":{"apiVersion":"v1","kind":"ConfigMap"},"validations":[{"expression":"true"}],` +
		`"matchConstraints":{"resourceRules":[{"apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE"],"resources":["bindings"]}]}}`,
	"admissionregistration.k8s.io/v1/mutatingadmissionpolicies": `"spec":{"reinvocationPolicy":"Never","mutations":[{"patchType":"JSONPatch","jsonPatch":{"expression":"[JSONPatch{op: \"remove\", path: \"/x\"}]"}}],` +
		`"matchConstraints":{"resourceRules":[{"apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE"],"resources":["bindings"]}]}}`,
	"admissionregistration.k8s.io/v1/validatingadmissionpolicybindings": `"spec":{"policyName":"none","validationActions":["Deny"],"paramRef":{"name":"p","namespace":"all","parameterNotFoundAction":"Deny"}}`,
	"admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings":   `"spec":{"policyName":"none","paramRef":{"name":"p","parameterNotFoundAction":"Deny"}}`,
	"node.k8s.io/v1/runtimeclasses":                                     `"handler":"runc"`,
	"resource.k8s.io/v1/deviceclasses":                                  `"spec":{}`,
	"resource.k8s.io/v1/resourceclaims":                                 `"spec":{}`,
	"resource.k8s.io/v1/resourceclaimtemplates":                         `"spec":{"spec":{}}`,
	"resource.k8s.io/v1/resourceslices":                                 `"spec":{"driver":"example.com","nodeName":"x","pool":{"name":"p","generation":1,"resourceSliceCount":1}}`,
	"certificates.k8s.io/v1/certificatesigningrequests":                 `"spec":{"signerName":"example.com/s","usages":["client auth"],"expirationSeconds":7200,"request":"` + certificateRequest + `"}`,
	"apiextensions.k8s.io/v1/customresourcedefinitions": `"spec":{"group":"example.org","scope":"Cluster","names":{"plural":"things","singular":"thing","kind":"Thing"},` +
		`"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}]}`,
}

const (
	template = `{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"example.com/c"}]}}`
	once     = `{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"example.com/c"}]}}`
)

// fill creates an object of every resource in the catalog, if it does not exist yet. The
// objects stay, because the server cannot delete some of them without controllers. Only
// the pod is deleted after the test, because other tests count pods.
func fill(t *testing.T) {
	t.Helper()
	_, err := shared.put(api.Resource{Version: "v1", Name: "namespaces"}, "all", []byte(`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"all"}}`))
	require.NoError(t, err)
	for _, s := range catalog.All() {
		key, spec := api.NewKey("all", "x"), specs[s.Resource.String()]
		if !s.Namespaced {
			key = "x"
		}
		if s.Kind == "CustomResourceDefinition" {
			key = "things.example.org"
		}
		path := collectionPath(s.Resource, key.Namespace()) + "/" + key.Name()
		code, _, err := shared.request(http.MethodGet, path, nil)
		require.NoError(t, err)
		if spec == "" || code == http.StatusOK {
			continue
		}
		head := fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":{"name":%q,"namespace":%q},`,
			s.Resource.APIVersion(), s.Kind, key.Name(), key.Namespace())
		_, err = shared.put(s.Resource, key, []byte(head+spec+"}"))
		assert.NoError(t, err, s.Resource.String())
		if s.Resource == pods {
			t.Cleanup(func() { shared.must(t, http.MethodDelete, path+"?gracePeriodSeconds=0", "") })
		}
	}
}

// The source reads the etcd of a kube-apiserver that stores JSON. It finds the keys of
// every resource without configuration.
func TestEtcdOfAServerIsReadWithoutConfiguration(t *testing.T) {
	fill(t)
	src, err := etcd.New(shared.Etcd.Client(), etcd.Config{Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	for _, s := range catalog.All() {
		var sink listSink
		require.ErrorIs(t, src.Stream(t.Context(), s.Resource, 0, &sink), errListed)
		names := shared.names(t, s.Resource, "")
		slices.Sort(names)
		assert.Equal(t, names, sink.keys, s.Resource.String())
		assert.NotEmpty(t, names, s.Resource.String())
	}
}
