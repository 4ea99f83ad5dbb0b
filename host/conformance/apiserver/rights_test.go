package apiserver

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/host/kubeapi"
	"github.com/watchglass/watchglass/host/source/kube"
)

// rights compares the output of kubectl auth for the kube-apiserver and for the Kubernetes
// API of a connector.
type rights struct {
	*testing.T
	servers map[string]string // addresses by name
}

func newRights(t *testing.T) *rights {
	src := newSource(t, admin, kube.Config{})
	policy := newSource(t, admin, kube.Config{}).Policy(nil)
	w := newWorld(t, src, policy)
	handler := kubeapi.New(kubeapi.Config{Backend: w.connector.Backend(), Access: policy})
	server := httptest.NewTLSServer(handler)
	t.Cleanup(server.Close)
	t.Cleanup(handler.Stop)
	return &rights{t, map[string]string{"kube-apiserver": shared.URL, "watchglass": server.URL}}
}

// kubectl runs kubectl as the user of a token, and returns what it writes to stdout and
// stderr.
func (r *rights) kubectl(server, token string, args ...string) (stdout, stderr string) {
	r.Helper()
	home := r.TempDir()
	command := exec.CommandContext(r.Context(), "../kubernetes/bin/kubectl-v1.36.3", append([]string{
		"--server", r.servers[server], "--token", token, "--insecure-skip-tls-verify", "--cache-dir", home}, args...)...)
	command.Env = []string{"HOME=" + home, "KUBECONFIG=" + filepath.Join(home, "none")}
	var out, complaint bytes.Buffer
	command.Stdout, command.Stderr = &out, &complaint
	_ = command.Run() // kubectl also fails if it prints the answer "no"
	return out.String(), complaint.String()
}

// bind creates a ClusterRole with rules and binds it to a user.
func bind(t *testing.T, user, rules string) {
	const group = "/apis/rbac.authorization.k8s.io/v1/"
	t.Cleanup(func() {
		for _, kind := range []string{"clusterrolebindings/", "clusterroles/"} {
			_, _, err := shared.request(http.MethodDelete, group+kind+user+"-extra", nil)
			assert.NoError(t, err)
		}
	})
	shared.must(t, http.MethodPost, group+"clusterroles", `{"metadata":{"name":"`+user+`-extra"},"rules":`+rules+`}`)
	shared.must(t, http.MethodPost, group+"clusterrolebindings", `{"metadata":{"name":"`+user+`-extra"},
		"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"`+user+`-extra"},
		"subjects":[{"kind":"User","apiGroup":"rbac.authorization.k8s.io","name":"`+user+`"}]}`)
}

func grantRights(t *testing.T) {
	grant(t, "ann", "", "configmaps")
	grant(t, "ben", "a", "configmaps")
	bind(t, "ann", `[{"apiGroups":[""],"resources":["pods","pods/log"],"verbs":["get","create","delete"]},
		{"apiGroups":["apps"],"resources":["deployments"],"resourceNames":["web"],"verbs":["*"]},
		{"apiGroups":[""],"resources":["secrets"],"verbs":["create"]},
		{"nonResourceURLs":["/metrics"],"verbs":["get"]}]`)
}

func TestKubectlAuthCanI(t *testing.T) {
	r := newRights(t)
	grantRights(t)
	yes := 0
	for _, token := range []string{admin, ann, ben} {
		for _, question := range []string{
			"get configmaps -n a", "list configmaps -n a", "watch configmaps -n b", "list configmaps -A", "get configmaps/x -n a",
			"get pods -n a", "list pods -n a", "get pods/x -n b", "list secrets -n a", "list nodes", "get deployments.apps/web -n a",
			"get deployments.apps/other -n a", "list deployments.apps -n a", "list unicorns", "get * -n a", "get /version", "get /api",
			"create selfsubjectaccessreviews.authorization.k8s.io", "create selfsubjectreviews.authentication.k8s.io",
		} {
			args := append([]string{"auth", "can-i"}, strings.Fields(question)...)
			want, _ := r.kubectl("kube-apiserver", token, args...)
			got, complaint := r.kubectl("watchglass", token, args...)
			assert.Equal(r, want, got, "%s: %s: %s", token, question, complaint)
			if got == "yes\n" {
				yes++
			}
		}
		for _, question := range []string{"create pods -n a", "delete configmaps -n a", "get pods --subresource log -n a", "* *"} {
			got, _ := r.kubectl("watchglass", token, append([]string{"auth", "can-i"}, strings.Fields(question)...)...)
			assert.Contains(r, got, "no - this server is a read-only cache", question)
		}
	}
	assert.Greater(t, yes, 25)
	got, _ := r.kubectl("kube-apiserver", ann, "auth", "can-i", "create", "pods", "-n", "a")
	assert.Equal(t, "yes\n", got, "the right exists, and only this server does not serve it")
}

func TestKubectlAuthWhoami(t *testing.T) {
	r := newRights(t)
	for _, token := range []string{admin, ann} {
		var users [2]map[string]any
		for i, server := range []string{"kube-apiserver", "watchglass"} {
			text, complaint := r.kubectl(server, token, "auth", "whoami", "-o", "json")
			var review struct{ Status map[string]any }
			require.NoError(t, json.Unmarshal([]byte(text), &review), "%s%s", text, complaint)
			users[i] = review.Status
		}
		assert.Equal(t, users[0], users[1])
		assert.NotEmpty(t, users[0]["userInfo"])
	}
	for _, server := range []string{"kube-apiserver", "watchglass"} {
		_, complaint := r.kubectl(server, "stranger", "auth", "whoami")
		assert.Contains(t, complaint, "You must be logged in to the server", server)
	}
}

// rule is a line of kubectl auth can-i --list.
type rule struct{ resource, path, name, verbs string }

var ruleLine = regexp.MustCompile(`^(\S*)\s+\[(.*?)\]\s+\[(.*?)\]\s+\[(.*?)\]$`)

func (r *rights) list(server, token, namespace string) []rule {
	r.Helper()
	text, complaint := r.kubectl(server, token, "auth", "can-i", "--list", "--no-headers", "-n", namespace)
	var rules []rule
	for line := range strings.Lines(text) {
		fields := ruleLine.FindStringSubmatch(strings.TrimRight(line, "\n"))
		require.NotNil(r, fields, "%q", line)
		rules = append(rules, rule{fields[1], fields[2], fields[3], fields[4]})
	}
	assert.Empty(r, complaint)
	return rules
}

// readable returns the part of the rules that applies to a read-only server without
// subresources and OpenAPI.
func readable(rules []rule) []rule {
	var served []rule
	for _, l := range rules {
		own := strings.HasPrefix(l.resource, "selfsubject")
		verbs := slices.DeleteFunc(strings.Fields(l.verbs), func(v string) bool {
			return !own && v != "get" && v != "list" && v != "watch" && v != "*"
		})
		if l.verbs = strings.Join(verbs, " "); l.verbs == "*" {
			l.verbs = "get list watch"
			if l.path != "" {
				l.verbs = "get"
			}
		}
		switch {
		case slices.Contains(served, l): // kube-apiserver prints a path once for each role
			continue
		case l.verbs == "", strings.Contains(l.resource, "/"), strings.HasPrefix(l.path, "/openapi"), l.path == "/metrics", l.path == "*":
			continue
		}
		served = append(served, l)
	}
	return served
}

func TestKubectlAuthCanIList(t *testing.T) {
	r := newRights(t)
	grantRights(t)
	for _, token := range []string{admin, ann, ben} {
		for _, namespace := range []string{"a", "b"} {
			want := readable(r.list("kube-apiserver", token, namespace))
			assert.ElementsMatch(t, want, r.list("watchglass", token, namespace), "%s in %s", token, namespace)
			assert.Greater(t, len(want), 8)
		}
	}
	assert.Contains(t, r.list("watchglass", ben, "a"), rule{resource: "configmaps", verbs: "get list watch"})
	assert.NotContains(t, r.list("watchglass", ben, "b"), rule{resource: "configmaps", verbs: "get list watch"})
	assert.Contains(t, r.list("watchglass", ann, "b"), rule{resource: "deployments.apps", name: "web", verbs: "get list watch"})
}
