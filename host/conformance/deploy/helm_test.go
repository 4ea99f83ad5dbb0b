package deploy

import (
	"encoding/json"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
)

// httpWarning is part of the notes of a release without TLS.
const httpWarning = "Warning: tokens travel over plain HTTP."

const helmBinary = "../chart/bin/helm-v4.3.1"

// tryHelm runs helm as the administrator, in the namespace of the release.
func (c *cluster) tryHelm(t *testing.T, args ...string) (output string, err error) {
	t.Helper()
	require.FileExists(t, helmBinary, "run make conformance, which builds it")
	home := t.TempDir()
	cmd := exec.CommandContext(t.Context(), helmBinary, append([]string{"--kubeconfig", c.kubeconfig, "--namespace", "watchglass"}, args...)...)
	cmd.Env = []string{"HOME=" + home, "HELM_CACHE_HOME=" + home, "HELM_CONFIG_HOME=" + home, "HELM_DATA_HOME=" + home}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// helm is like tryHelm, but fails the test on an error, or on a warning other than
// httpWarning.
func (c *cluster) helm(t *testing.T, args ...string) string {
	t.Helper()
	out, err := c.tryHelm(t, args...)
	require.NoError(t, err, "helm %s: %s", strings.Join(args, " "), out)
	require.NotRegexp(t, `(?m)^(W\d{4} |Warning: |.*level=WARN)`, strings.ReplaceAll(out, httpWarning, ""), "helm %s", strings.Join(args, " "))
	return out
}

// objects returns the kind and name of every object in the cluster. It omits events and
// leases, which change continuously, and endpoints, which endpoint slices replace.
func (c *cluster) objects(t *testing.T) []string {
	t.Helper()
	kinds := strings.Fields(c.kubectl(t, "", "api-resources", "--verbs=list,delete", "-o", "name"))
	kinds = slices.DeleteFunc(kinds, func(kind string) bool {
		return slices.Contains([]string{"endpoints", "events", "events.events.k8s.io", "leases.coordination.k8s.io"}, kind)
	})
	all := strings.Fields(c.kubectl(t, "", "get", strings.Join(kinds, ","), "--all-namespaces", "--ignore-not-found",
		"-o", `jsonpath={range .items[*]}{.kind}/{.metadata.namespace}/{.metadata.name}{"\n"}{end}`))
	slices.Sort(all)
	return all
}

// added returns the objects that the list "after" contains and the list "before" lacks. It
// omits IPAddress objects, which kube-apiserver creates for Services.
func added(before, after []string) []string {
	return slices.DeleteFunc(slices.Clone(after), func(name string) bool {
		return slices.Contains(before, name) || strings.HasPrefix(name, "IPAddress/")
	})
}

// deployment returns the Deployment of the release, and checks that the cluster admits its
// pods. The check uses a dry run, because no controller creates pods here.
func (c *cluster) deployment(t *testing.T) appsv1.Deployment {
	t.Helper()
	var d appsv1.Deployment
	require.NoError(t, json.Unmarshal([]byte(c.kubectl(t, "", "get", "deployment/watchglass", "--namespace=watchglass", "-o", "json")), &d))
	c.kubectl(t, pod(t, d, nil), "create", "--dry-run=server", "-f", "-")
	return d
}

// TestHelmInstallsUpgradesAndUninstalls installs, upgrades and uninstalls a release in a
// namespace that enforces the restricted standard.
func TestHelmInstallsUpgradesAndUninstalls(t *testing.T) {
	c := newCluster(t)
	c.kubectl(t, "", "apply", "--server-side", "-f", examples+"/base/namespace.yaml")
	before := c.objects(t)
	require.Contains(t, before, "Namespace//watchglass")

	notes := c.helm(t, "install", "watchglass", examples+"/chart")
	require.Contains(t, notes, "kubectl --namespace watchglass port-forward service/watchglass")
	installed := c.objects(t)
	require.Equal(t, []string{
		"ClusterRole//watchglass", "ClusterRoleBinding//watchglass",
		"Deployment/watchglass/watchglass", "PodDisruptionBudget/watchglass/watchglass",
		"Secret/watchglass/sh.helm.release.v1.watchglass.v1",
		"Service/watchglass/watchglass", "ServiceAccount/watchglass/watchglass",
	}, added(before, installed))
	first := c.deployment(t)
	require.EqualValues(t, 2, *first.Spec.Replicas)

	out, err := c.tryHelm(t, "upgrade", "watchglass", examples+"/chart", "--set", "replicaCount=0")
	require.Error(t, err)
	require.Contains(t, out, "at '/replicaCount': minimum: got 0, want 1")
	require.Equal(t, installed, c.objects(t), "a refused upgrade changes nothing")

	c.helm(t, "upgrade", "watchglass", examples+"/chart", "--set", "replicaCount=3,kubeAPI.enabled=false,networkPolicy.enabled=true,podDisruptionBudget.enabled=false")
	upgraded := c.objects(t)
	require.Equal(t, []string{"NetworkPolicy/watchglass/watchglass", "Secret/watchglass/sh.helm.release.v1.watchglass.v2"}, added(installed, upgraded))
	require.Equal(t, []string{"PodDisruptionBudget/watchglass/watchglass"}, added(upgraded, installed))
	second := c.deployment(t)
	require.EqualValues(t, 3, *second.Spec.Replicas)
	require.Equal(t, first.Spec.Selector, second.Spec.Selector)
	require.Less(t, len(second.Spec.Template.Spec.Containers[0].Ports), len(first.Spec.Template.Spec.Containers[0].Ports))
	ports := c.kubectl(t, "", "get", "service/watchglass", "--namespace=watchglass", "-o", "jsonpath={.spec.ports[*].name}")
	require.Equal(t, "http", ports)

	c.helm(t, "rollback", "watchglass", "1")
	third := c.deployment(t)
	require.Equal(t, first.Spec, third.Spec)

	c.helm(t, "uninstall", "watchglass")
	after := c.objects(t)
	require.Empty(t, added(before, after), "the release leaves nothing behind")
	require.Empty(t, added(after, before), "and the namespace stays")
}

// TestHelmReleasesDoNotCollide installs a second release, in another namespace.
func TestHelmReleasesDoNotCollide(t *testing.T) {
	c := newCluster(t)
	c.helm(t, "install", "watchglass", examples+"/chart", "--create-namespace")
	before := c.objects(t)
	c.helm(t, "install", "second", examples+"/chart", "--create-namespace", "--namespace", "elsewhere")
	require.NotEmpty(t, added(before, c.objects(t)))
	c.helm(t, "uninstall", "second", "--namespace", "elsewhere")
	require.Equal(t, []string{"Namespace//elsewhere"}, added(before, c.objects(t)), "the namespace is the operator's")
}
