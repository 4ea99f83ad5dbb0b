package apiserver

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/catalog"
	"github.com/watchglass/watchglass/host/conformance/internal/kubeapiserver"
	"github.com/watchglass/watchglass/host/source/kube"
)

// kubectl prints the same cells from watchglass and from kube-apiserver for kinds that
// clusters do not serve by default.
func TestKubectlPrintsTheCellsOfPreviews(t *testing.T) {
	base, err := kubeapiserver.Start(kubeapiserver.Config{Flags: []string{
		"--runtime-config=api/all=true", "--disable-admission-plugins=ServiceAccount,NamespaceLifecycle,ClusterTrustBundleAttest,PodGroupWorkloadExists",
		"--feature-gates=ClusterTrustBundle=true,CoordinatedLeaderElection=true,DRADeviceTaints=true,DRADeviceTaintRules=true,GenericWorkload=true," +
			"PodCertificateRequest=true,StorageVersionMigrator=true",
	}})
	require.NoError(t, err)
	before := shared
	shared = &server{Server: base}
	defer func() {
		shared.Stop()
		assert.NoError(t, shared.Close())
		shared = before
	}()
	anchor, pod := newAnchor(t), newPodProof(t)
	const at = `,"lastTransitionTime":"2026-01-02T03:04:05Z","message":"m"}`
	var schemas, alone []api.Schema
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
		"certificates.k8s.io/v1beta1/podcertificaterequests": {
			`{"kind":"PodCertificateRequest","apiVersion":"certificates.k8s.io/v1beta1","metadata":{"name":"a","namespace":"all"},"spec":{` + pod + `}}`,
			`{"kind":"PodCertificateRequest","apiVersion":"certificates.k8s.io/v1beta1","metadata":{"name":"b","namespace":"all"},"spec":{` + pod +
				`,"unverifiedUserAnnotations":{"example.com/z":"2","example.com/a":"1"}},"status":{"conditions":[{"type":"Denied","status":"True","reason":"r"` + at + `]}}`,
			`{"kind":"PodCertificateRequest","apiVersion":"certificates.k8s.io/v1beta1","metadata":{"name":"c","namespace":"all"},"spec":{` + pod + `},` +
				`"status":{"conditions":[{"type":"Failed","status":"True","reason":"r"` + at + `]}}`,
		},
		"scheduling.k8s.io/v1alpha2/podgroups": {
			`{"kind":"PodGroup","apiVersion":"scheduling.k8s.io/v1alpha2","metadata":{"name":"a","namespace":"all"},"spec":{"schedulingPolicy":{"basic":{}}}}`,
			`{"kind":"PodGroup","apiVersion":"scheduling.k8s.io/v1alpha2","metadata":{"name":"b","namespace":"all"},"spec":{"schedulingPolicy":{"gang":{"minCount":2}},` +
				`"podGroupTemplateRef":{"workload":{"workloadName":"a","podGroupTemplateName":"p"}}},` +
				`"status":{"conditions":[{"type":"PodGroupScheduled","status":"True","reason":"r"` + at + `]}}`,
			`{"kind":"PodGroup","apiVersion":"scheduling.k8s.io/v1alpha2","metadata":{"name":"c","namespace":"all"},"spec":{"schedulingPolicy":{"gang":{"minCount":2}}},` +
				`"status":{"conditions":[{"type":"PodGroupScheduled","status":"Unknown","reason":"r"` + at + `]}}`,
			`{"kind":"PodGroup","apiVersion":"scheduling.k8s.io/v1alpha2","metadata":{"name":"d","namespace":"all"},"spec":{"schedulingPolicy":{"gang":{"minCount":2}}},` +
				`"status":{"conditions":[{"type":"DisruptionTarget","status":"False","reason":"Spared"` + at + `,{"type":"PodGroupScheduled","status":"True","reason":"r"` + at + `]}}`,
		},
		"internal.apiserver.k8s.io/v1alpha1/storageversions": {
			`{"kind":"StorageVersion","apiVersion":"internal.apiserver.k8s.io/v1alpha1","metadata":{"name":"example.com.as"},"spec":{},"status":{}}`,
			`{"kind":"StorageVersion","apiVersion":"internal.apiserver.k8s.io/v1alpha1","metadata":{"name":"example.com.bs"},"spec":{},"status":{"commonEncodingVersion":"v1",` +
				`"storageVersions":[` + serverVersion("a", "v1") + `,` + serverVersion("b", "v1") + `,` + serverVersion("c", "v1") + `]}}`,
			`{"kind":"StorageVersion","apiVersion":"internal.apiserver.k8s.io/v1alpha1","metadata":{"name":"example.com.cs"},"spec":{},"status":{` +
				`"storageVersions":[` + serverVersion("a", "v2") + `,` + serverVersion("b", "v1") + `,` + serverVersion("c", "v1") + `,` + serverVersion("d", "v1") + `,` + serverVersion("e", "v1") + `]}}`,
		},
		migrations: {
			`{"kind":"StorageVersionMigration","apiVersion":"storagemigration.k8s.io/v1beta1","metadata":{"name":"a"},"spec":{"resource":{"group":"apps","resource":"deployments"}}}`,
			`{"kind":"StorageVersionMigration","apiVersion":"storagemigration.k8s.io/v1beta1","metadata":{"name":"b"},"spec":{"resource":{"group":"","resource":"pods"}},` +
				`"status":{"conditions":[{"type":"Running","status":"True","reason":"r"` + at + `,{"type":"Succeeded","status":"True","reason":"r"` + at + `]}}`,
			`{"kind":"StorageVersionMigration","apiVersion":"storagemigration.k8s.io/v1beta1","metadata":{"name":"c"},"spec":{"resource":{"group":"apps","resource":"deployments"}},` +
				`"status":{"conditions":[{"type":"Failed","status":"True","reason":"r"` + at + `,{"type":"Running","status":"True","reason":"r"` + at + `]}}`,
			`{"kind":"StorageVersionMigration","apiVersion":"storagemigration.k8s.io/v1beta1","metadata":{"name":"d"},"spec":{"resource":{"group":"apps","resource":"deployments"}},` +
				`"status":{"conditions":[{"type":"Running","status":"False","reason":"r"` + at + `,{"type":"Other","status":"True","reason":"r"` + at + `]}}`,
		},
	} {
		r, err := api.ParseResource(resource)
		require.NoError(t, err)
		schema := catalog.Find(r)
		require.NotNil(t, schema, resource)
		// kube-apiserver does not declare the column Name of a migration as a name, so kubectl
		// prints this column without the kind.
		if resource == migrations {
			alone = append(alone, *schema)
		} else {
			schemas = append(schemas, *schema)
		}
		namespace := ""
		if schema.Namespaced {
			namespace = "all"
		}
		for _, object := range objects {
			createObject(t, resource, namespace, object)
		}
	}
	ours := served(t, newSource(t, admin, kube.Config{}))
	for _, together := range [][]api.Schema{schemas, alone} {
		for _, format := range []string{"", "wide"} {
			began := time.Now()
			theirs := get(t, "", names(together), format)
			cells := sameTables(t, theirs, get(t, ours, names(together), format), time.Since(began))
			t.Logf("%d cells\n%s", cells, theirs)
			assert.Len(t, sections(theirs), len(together))
		}
	}
}

const migrations = "storagemigration.k8s.io/v1beta1/storageversionmigrations"

// serverVersion returns the JSON entry of one API server in the status of a
// StorageVersion.
func serverVersion(id, version string) string {
	return `{"apiServerID":"` + id + `","encodingVersion":"` + version + `","decodableVersions":["` + version + `"]}`
}

// newPodProof returns JSON members for the spec of a PodCertificateRequest. They include a
// valid key and signature, because the server validates both.
func newPodProof(t *testing.T) string {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	require.NoError(t, err)
	digest := sha256.Sum256([]byte("pod-uid"))
	proof, err := ecdsa.SignASN1(rand.Reader, key, digest[:])
	require.NoError(t, err)
	return `"signerName":"example.com/s","podName":"p","podUID":"pod-uid","serviceAccountName":"sa","serviceAccountUID":"u","nodeName":"n","nodeUID":"u",` +
		`"maxExpirationSeconds":3600,"pkixPublicKey":"` + base64.StdEncoding.EncodeToString(public) + `","proofOfPossession":"` + base64.StdEncoding.EncodeToString(proof) + `"`
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
