package deploy

import (
	"bufio"
	"encoding/json"
	"net/http"
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
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
)

// operator returns a CustomResourceDefinition that resembles one of the Prometheus
// operator, for a kind that the chart creates.
func operator(kind, plural string) string {
	return `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: ` + plural + `.monitoring.coreos.com}
spec:
  group: monitoring.coreos.com
  names: {kind: ` + kind + `, plural: ` + plural + `}
  scope: Namespaced
  versions:
    - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
`
}

// prepared returns a cluster with the namespaces and custom resources that the manifests
// require.
func prepared(t *testing.T) *cluster {
	t.Helper()
	c := newCluster(t)
	c.kubectl(t, "", "apply", "--server-side", "-f", examples+"/base/namespace.yaml")
	c.kubectl(t, "", "create", "serviceaccount", "default", "--namespace=watchglass") // in other clusters, a controller creates it
	c.kubectl(t, "", "create", "namespace", "shop")
	for kind, plural := range map[string]string{"ServiceMonitor": "servicemonitors", "PrometheusRule": "prometheusrules"} {
		c.kubectl(t, operator(kind, plural), "apply", "-f", "-")
		c.kubectl(t, "", "wait", "--for=condition=Established", "crd/"+plural+".monitoring.coreos.com", "--timeout=1m")
	}
	return c
}

// manifests returns the kubectl arguments that apply each variant of the manifests, by the
// name of the variant.
func manifests(t *testing.T) map[string][]string {
	t.Helper()
	all := map[string][]string{"base": {"-k", examples + "/base"}}
	overlays, err := filepath.Glob(examples + "/overlays/*")
	require.NoError(t, err)
	require.Len(t, overlays, 3)
	for _, dir := range overlays {
		all[filepath.Base(dir)] = []string{"-k", dir}
	}
	charts, err := filepath.Glob("../chart/testdata/*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, charts)
	for _, file := range charts {
		all["chart "+filepath.Base(file)] = []string{"-f", file}
	}
	return all
}

func TestManifestsAreAdmittedUnderRestricted(t *testing.T) {
	c := prepared(t)
	for name, source := range manifests(t) {
		t.Run(name, func(t *testing.T) {
			apply := append([]string{"apply", "--server-side", "--force-conflicts"}, source...)
			c.kubectl(t, "", append(apply, "--dry-run=server")...)
			c.kubectl(t, "", apply...)
			var found appsv1.DeploymentList
			require.NoError(t, json.Unmarshal([]byte(c.kubectl(t, "", "get", "deployments", "--namespace=watchglass", "-o", "json")), &found))
			require.NotEmpty(t, found.Items)
			for _, d := range found.Items {
				_, refused, err := c.try(t, pod(t, d, nil), "create", "--dry-run=server", "-f", "-")
				require.NoError(t, err, refused)
			}
			c.kubectl(t, "", "delete", "deployments", "--namespace=watchglass", "--all")
		})
	}
}

// pod returns the JSON of a Deployment's pod. The function change, if not nil, modifies its spec.
func pod(t *testing.T, d appsv1.Deployment, change func(*corev1.PodSpec)) string {
	t.Helper()
	p := corev1.Pod{ObjectMeta: d.Spec.Template.ObjectMeta, Spec: d.Spec.Template.Spec}
	p.APIVersion, p.Kind, p.Name, p.Namespace = "v1", "Pod", d.Name, d.Namespace
	if change != nil {
		change(&p.Spec)
	}
	text, err := json.Marshal(p)
	require.NoError(t, err)
	return string(text)
}

// TestTheNamespaceRefusesOtherPods checks that the cluster enforces the restricted
// standard, on which TestManifestsAreAdmittedUnderRestricted relies.
func TestTheNamespaceRefusesOtherPods(t *testing.T) {
	c := prepared(t)
	c.kubectl(t, "", "apply", "--server-side", "-k", examples+"/base")
	var d appsv1.Deployment
	require.NoError(t, json.Unmarshal([]byte(c.kubectl(t, "", "get", "deployment/watchglass", "--namespace=watchglass", "-o", "json")), &d))
	for want, change := range map[string]func(*corev1.PodSpec){
		"runAsNonRoot != true":      func(s *corev1.PodSpec) { s.SecurityContext.RunAsNonRoot = nil },
		"unrestricted capabilities": func(s *corev1.PodSpec) { s.Containers[0].SecurityContext.Capabilities = nil },
		"seccompProfile":            func(s *corev1.PodSpec) { s.SecurityContext.SeccompProfile = nil },
		"host namespaces":           func(s *corev1.PodSpec) { s.HostNetwork = true },
	} {
		_, failure, err := c.try(t, pod(t, d, change), "create", "--dry-run=server", "-f", "-")
		require.Error(t, err, want)
		require.Contains(t, failure, `violates PodSecurity "restricted`)
		require.Contains(t, failure, want)
	}
}

// serving starts the connector with the rights of its service account, and returns the
// address of its Kubernetes API.
func serving(t *testing.T, c *cluster) string {
	t.Helper()
	token := c.kubectl(t, "", "create", "token", "watchglass", "--namespace=watchglass")
	cmd := exec.Command(binary, "serve", "--kubeconfig", c.config(t, token), "--auth=kube", "--listen=127.0.0.1:0", "--kube-api=127.0.0.1:0")
	var log strings.Builder
	cmd.Stderr = &log
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt) // the process may have ended
		_ = cmd.Wait()                       // the exit status does not matter
	})
	address := regexp.MustCompile(`kubectl --server (http://\S+)`)
	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		if groups := address.FindStringSubmatch(lines.Text()); groups != nil {
			return groups[1]
		}
	}
	require.Fail(t, "the connector ended", "%v: %s", cmd.Wait(), log.String())
	return ""
}

// code returns the status code of a user's request for a URL. It repeats the request until
// the connector has listed the resource, or was not permitted to list it.
func code(t *testing.T, c *cluster, url, token string) int {
	t.Helper()
	var status int
	require.Eventually(t, func() bool {
		var err error
		status, _, err = c.get(t.Context(), url, token)
		return err == nil && status != http.StatusTooManyRequests
	}, 2*time.Minute, 100*time.Millisecond, url)
	return status
}

// requireUnreadable checks that an administrator cannot read a resource that the
// connector may not read, and that the response names the missing right.
func requireUnreadable(t *testing.T, c *cluster, url string) {
	t.Helper()
	status, body, err := c.get(t.Context(), url, admin)
	require.NoError(t, err)
	require.Equal(t, http.StatusForbidden, status, body)
	require.Contains(t, body, "the connector is not allowed to list and watch")
}

func paths(t *testing.T, c *cluster) []string {
	t.Helper()
	versions := map[string]string{"autoscaling": "v2"} // other groups use v1
	var role rbacv1.ClusterRole
	require.NoError(t, json.Unmarshal([]byte(c.kubectl(t, "", "get", "clusterrole/watchglass-resources", "-o", "json")), &role))
	var all []string
	for _, rule := range role.Rules {
		if slices.Contains(rule.APIGroups, "metrics.k8s.io") { // this cluster has no metrics-server
			continue
		}
		require.Equal(t, []string{"list", "watch"}, rule.Verbs)
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				prefix := "/api/v1/"
				if group != "" {
					prefix = "/apis/" + group + "/v1/"
					if v := versions[group]; v != "" {
						prefix = "/apis/" + group + "/" + v + "/"
					}
				}
				all = append(all, prefix+resource)
			}
		}
	}
	return all
}

func TestTheBaseServesEveryResourceOfItsRole(t *testing.T) {
	c := prepared(t)
	c.kubectl(t, "", "apply", "--server-side", "-k", examples+"/base")
	server := serving(t, c)
	served := paths(t, c)
	require.Greater(t, len(served), 20)
	for _, path := range served {
		assert.Equal(t, http.StatusOK, code(t, c, server+path+"?limit=1", admin), path)
	}
	requireUnreadable(t, c, server+"/api/v1/secrets")
	assert.Equal(t, http.StatusForbidden, code(t, c, server+"/api/v1/pods", developer), "a user without rights")
	assert.Equal(t, http.StatusUnauthorized, code(t, c, server+"/api/v1/pods", "unknown"))
}

// TestTheServiceAccountHasNoOtherRights checks that kube-apiserver grants the service
// account the rights of its roles, and otherwise only the rights that every user has.
func TestTheServiceAccountHasNoOtherRights(t *testing.T) {
	c := prepared(t)
	c.kubectl(t, "", "apply", "--server-side", "-k", examples+"/base")
	as := "--as=system:serviceaccount:watchglass:watchglass"
	groups := []string{"--as-group=system:serviceaccounts", "--as-group=system:authenticated"}
	can := func(args ...string) string {
		out, _, _ := c.try(t, "", append(append([]string{"auth", "can-i", as}, groups...), args...)...) // kubectl also fails if it prints "no"
		return strings.TrimSpace(out)
	}
	for _, allowed := range [][]string{
		{"list", "pods"}, {"watch", "deployments.apps"}, {"get", "namespaces/kube-system"},
		{"create", "tokenreviews.authentication.k8s.io"}, {"create", "subjectaccessreviews.authorization.k8s.io"},
	} {
		require.Equal(t, "yes", can(allowed...), "%v", allowed)
	}
	for _, denied := range [][]string{
		{"list", "secrets"}, {"watch", "secrets"}, {"get", "pods"}, {"get", "namespaces/default"}, {"create", "pods"}, {"delete", "pods"},
		{"update", "deployments.apps"}, {"impersonate", "users"}, {"get", "/metrics"}, {"*", "*"},
	} {
		require.Equal(t, "no", can(denied...), "%v", denied)
	}
	// kubectl auth can-i supports only groups that the cluster serves.
	for verb, want := range map[string]string{"list": "true", "get": "false"} {
		review := `{"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","spec":{"user":"system:serviceaccount:watchglass:watchglass",` +
			`"resourceAttributes":{"verb":"` + verb + `","group":"metrics.k8s.io","resource":"pods"}}}`
		require.Equal(t, want, c.kubectl(t, review, "create", "-f", "-", "-o", "jsonpath={.status.allowed}"), verb)
	}
}

func TestOneNamespaceShowsOnlyItsObjects(t *testing.T) {
	c := prepared(t)
	c.kubectl(t, "", "apply", "--server-side", "-k", examples+"/overlays/one-namespace")
	server := serving(t, c)
	for path, want := range map[string]int{
		"/api/v1/namespaces/shop/pods":              http.StatusOK,
		"/apis/apps/v1/namespaces/shop/deployments": http.StatusOK,
		"/api/v1/namespaces/watchglass/pods":        http.StatusForbidden,
		"/api/v1/pods":                              http.StatusForbidden,
		"/api/v1/namespaces/shop/configmaps":        http.StatusForbidden,
		"/api/v1/namespaces/shop/secrets":           http.StatusForbidden,
	} {
		assert.Equal(t, want, code(t, c, server+path, developer), path)
	}
	requireUnreadable(t, c, server+"/api/v1/nodes")
}

func TestAllResourcesIncludeCustomOnes(t *testing.T) {
	c := prepared(t)
	c.kubectl(t, "", "apply", "--server-side", "-k", examples+"/overlays/all-resources")
	server := serving(t, c)
	for _, path := range []string{"/apis/monitoring.coreos.com/v1/servicemonitors", "/api/v1/secrets"} {
		assert.Equal(t, http.StatusOK, code(t, c, server+path, admin), path)
	}
}

// TestTheReadmeCreatesAReader runs the commands of the README that create a token.
func TestTheReadmeCreatesAReader(t *testing.T) {
	c := prepared(t)
	c.kubectl(t, "", "apply", "--server-side", "-k", examples+"/base")
	// In a complete cluster, a controller aggregates these rules.
	c.kubectl(t, `{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "view"},
		"rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch"]}]}`,
		"apply", "--server-side", "--force-conflicts", "-f", "-")
	readme, err := os.ReadFile(examples + "/README.md")
	require.NoError(t, err)
	commands := regexp.MustCompile(`(?m)^kubectl (.*\bcreate\b.*)$`).FindAllStringSubmatch(string(readme), -1)
	require.Len(t, commands, 3)
	var token string
	for _, command := range commands {
		token = c.kubectl(t, "", strings.Fields(command[1])...)
	}
	server := serving(t, c)
	assert.Equal(t, http.StatusOK, code(t, c, server+"/api/v1/pods", token))
	assert.Equal(t, http.StatusForbidden, code(t, c, server+"/api/v1/configmaps", token))
}
