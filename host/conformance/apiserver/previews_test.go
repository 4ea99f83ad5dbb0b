package apiserver

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/catalog"
	"github.com/watchglass/watchglass/host/conformance/internal/kubeapiserver"
	"github.com/watchglass/watchglass/host/source/kube"
)

// kubectl prints the same cells for kinds that clusters do not serve by default.
func TestKubectlPrintsTheCellsOfPreviews(t *testing.T) {
	base, err := kubeapiserver.Start(kubeapiserver.Config{Flags: []string{
		"--runtime-config=api/all=true", "--disable-admission-plugins=ServiceAccount,NamespaceLifecycle,ClusterTrustBundleAttest",
		"--feature-gates=ClusterTrustBundle=true,CoordinatedLeaderElection=true,DRADeviceTaints=true,DRADeviceTaintRules=true,GenericWorkload=true",
	}})
	require.NoError(t, err)
	before := shared
	shared = &server{Server: base}
	defer func() {
		shared.Stop()
		assert.NoError(t, shared.Close())
		shared = before
	}()
	anchor := newAnchor(t)
	var schemas []api.Schema
	for resource, objects := range map[string][]string{
		"certificates.k8s.io/v1beta1/clustertrustbundles": {
			`{"kind":"ClusterTrustBundle","apiVersion":"certificates.k8s.io/v1beta1","metadata":{"name":"a"},"spec":{"trustBundle":` + anchor + `}}`,
			`{"kind":"ClusterTrustBundle","apiVersion":"certificates.k8s.io/v1beta1","metadata":{"name":"example.com:s:b"},"spec":{"signerName":"example.com/s","trustBundle":` + anchor + `}}`,
		},
		"coordination.k8s.io/v1beta1/leasecandidates": {
			`{"kind":"LeaseCandidate","apiVersion":"coordination.k8s.io/v1beta1","metadata":{"name":"a","namespace":"all"},` +
				`"spec":{"leaseName":"l","binaryVersion":"1.36.0","emulationVersion":"1.35.0","strategy":"OldestEmulationVersion"}}`,
		},
		"resource.k8s.io/v1beta2/devicetaintrules": {
			`{"kind":"DeviceTaintRule","apiVersion":"resource.k8s.io/v1beta2","metadata":{"name":"a"},"spec":{"taint":{"key":"example.com/k","value":"v","effect":"NoSchedule"}}}`,
			`{"kind":"DeviceTaintRule","apiVersion":"resource.k8s.io/v1beta2","metadata":{"name":"b"},"spec":{"deviceSelector":{"driver":"example.com"},` +
				`"taint":{"key":"k","effect":"NoExecute","timeAdded":"2026-01-02T03:04:05Z"}}}`,
		},
		"scheduling.k8s.io/v1alpha2/workloads": {
			`{"kind":"Workload","apiVersion":"scheduling.k8s.io/v1alpha2","metadata":{"name":"a","namespace":"all"},` +
				`"spec":{"podGroupTemplates":[{"name":"p","schedulingPolicy":{"basic":{}}}]}}`,
		},
	} {
		r, err := api.ParseResource(resource)
		require.NoError(t, err)
		schema := catalog.Find(r)
		require.NotNil(t, schema, resource)
		schemas = append(schemas, *schema)
		namespace := ""
		if schema.Namespaced {
			namespace = "all"
		}
		for _, object := range objects {
			shared.must(t, http.MethodPost, collectionPath(r, namespace), object)
		}
	}
	ours := served(t, newSource(t, admin, kube.Config{}))
	for _, format := range []string{"", "wide"} {
		began := time.Now()
		theirs := get(t, "", names(schemas), format)
		cells := sameTables(t, theirs, get(t, ours, names(schemas), format), time.Since(began))
		t.Logf("%d cells\n%s", cells, theirs)
		assert.Len(t, sections(theirs), len(schemas))
	}
}

// newAnchor returns a root certificate as a JSON string.
func newAnchor(t *testing.T) string {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	root := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "root"}, IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, root, root, key.Public(), key)
	require.NoError(t, err)
	text, err := json.Marshal(string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	require.NoError(t, err)
	return string(text)
}
