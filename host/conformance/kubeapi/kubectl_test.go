package kubeapi

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/catalog"
)

// kubectlPath is the kubectl that make conformance builds.
const kubectlPath = "../kubernetes/bin/kubectl-v1.36.3"

// kubectl returns a kubectl command that reads from the rig and uses no other
// configuration.
func (r *rig) kubectl(ctx context.Context, args ...string) *exec.Cmd {
	path, err := filepath.Abs(kubectlPath)
	require.NoError(r, err)
	require.FileExists(r, path, "make conformance builds it")
	home := r.TempDir()
	command := exec.CommandContext(ctx, path, append([]string{"--server", r.url, "--cache-dir", home}, args...)...)
	command.Env = []string{"HOME=" + home, "KUBECONFIG=" + filepath.Join(home, "none"), "PATH=" + os.Getenv("PATH")}
	return command
}

// output runs a kubectl command that must succeed, and returns what it writes to stdout.
func (r *rig) output(args ...string) string {
	r.Helper()
	command := r.kubectl(r.Context(), args...)
	var complaint bytes.Buffer
	command.Stderr = &complaint
	text, err := command.Output()
	require.NoError(r, err, "%v: %s", args, complaint.String())
	return string(text)
}

// complains runs a kubectl command that must fail, and returns its output and errors.
func (r *rig) complains(args ...string) string {
	r.Helper()
	text, err := r.kubectl(r.Context(), args...).CombinedOutput()
	require.Error(r, err, "%v: %s", args, text)
	return string(text)
}

// columns splits each line into its fields.
func columns(text string) [][]string {
	var lines [][]string
	for line := range strings.Lines(text) {
		lines = append(lines, strings.Fields(line))
	}
	return lines
}

func onNode(name string, node int, app, phase string) (api.Key, []byte) {
	return api.Key(name), fmt.Appendf(nil, `{"kind":"Pod","apiVersion":"v1","metadata":{"name":%q,"namespace":%q,"labels":{"app":%q}},`+
		`"spec":{"nodeName":"node-%d","containers":[{"name":"main","image":"registry.example.com/app:1"}]},"status":{"phase":%q,"podIP":"10.0.0.%d"}}`,
		api.Key(name).Name(), api.Key(name).Namespace(), app, node, phase, node)
}

func (r *rig) putPod(name string, node int, app, phase string) {
	key, value := onNode(name, node, app, phase)
	r.write(pods, key, value)
}

// kubectlRig runs a test on each backend, with two namespaces and three pods.
func kubectlRig(t *testing.T, test func(r *rig)) {
	eachBackend(t, func(r *rig) {
		for _, name := range []string{"a", "b"} {
			r.write(namespaces, api.Key(name), fmt.Appendf(nil, `{"kind":"Namespace","apiVersion":"v1","metadata":{"name":%q}}`, name))
		}
		r.putPod("a/one", 1, "web", "Running")
		r.putPod("a/two", 2, "api", "Pending")
		r.putPod("b/one", 2, "web", "Running")
		test(r)
	})
}

func TestKubectlGet(t *testing.T) {
	kubectlRig(t, func(r *rig) {
		header := []string{"NAMESPACE", "NAME", "READY", "STATUS", "RESTARTS", "AGE"}
		one := []string{"a", "one", "0/1", "Running", "0", "<unknown>"}
		two := []string{"a", "two", "0/1", "Pending", "0", "<unknown>"}
		other := []string{"b", "one", "0/1", "Running", "0", "<unknown>"}
		assert.Equal(r, [][]string{header, one, two, other}, columns(r.output("get", "pods", "-A")))
		assert.Equal(r, [][]string{header, one, other}, columns(r.output("get", "po", "-A", "-l", "app=web")))
		assert.Equal(r, [][]string{header, two}, columns(r.output("get", "pod", "-A", "-l", "app in (api,db),app!=web")))
		assert.Equal(r, [][]string{header, other}, columns(r.output("get", "pods", "-A", "--field-selector", "spec.nodeName=node-2,status.phase=Running")))
		assert.Equal(r, [][]string{two[1:]}, columns(r.output("get", "pods", "-n", "a", "two", "--no-headers")))
		assert.Equal(r, "pod/one\npod/two\n", r.output("get", "pods", "-n", "a", "-o", "name"))
		assert.Equal(r, "Running", r.output("get", "pod", "one", "-n", "b", "-o", "jsonpath={.status.phase}"))
		assert.Equal(r, [][]string{
			append(header, "IP", "NODE", "NOMINATED", "NODE", "READINESS", "GATES"),
			append(one, "10.0.0.1", "node-1", "<none>", "<none>"),
			append(two, "10.0.0.2", "node-2", "<none>", "<none>"),
			append(other, "10.0.0.2", "node-2", "<none>", "<none>"),
		}, columns(r.output("get", "pods", "-A", "-o", "wide")))
		assert.Equal(r, append(header, "LABELS"), columns(r.output("get", "pods", "-A", "--show-labels"))[0])
		assert.Equal(r, "No resources found in c namespace.\n", r.complainsNot("get", "pods", "-n", "c"))
	})
}

// complainsNot runs a kubectl command that must succeed, and returns its output and
// warnings.
func (r *rig) complainsNot(args ...string) string {
	r.Helper()
	text, err := r.kubectl(r.Context(), args...).CombinedOutput()
	require.NoError(r, err, string(text))
	return string(text)
}

func TestKubectlGetJSONMatchesTheSource(t *testing.T) {
	kubectlRig(t, func(r *rig) {
		var list unstructured.UnstructuredList
		require.NoError(r, json.Unmarshal([]byte(r.output("get", "pods", "-A", "-o", "json")), &list))
		r.equal(pods, r.source.Revision().String(), list.Items)
	})
}

func TestKubectlChunkSize(t *testing.T) {
	eachBackend(t, func(r *rig) {
		for n := range 100 {
			r.putPod(fmt.Sprintf("a/pod-%03d", n), n%3, "web", "Running")
		}
		for _, size := range []string{"7", "500", "0"} {
			r.asked()
			lines := columns(r.output("get", "pods", "-A", "--no-headers", "--chunk-size="+size))
			require.Len(r, lines, 100)
			for n, line := range lines {
				require.Equal(r, fmt.Sprintf("pod-%03d", n), line[1])
			}
			pages := 0
			for _, request := range r.asked() {
				if path, _, _ := strings.Cut(request, "?"); path == "/api/v1/pods" {
					pages++
				}
			}
			assert.Equal(r, map[string]int{"7": 15, "500": 1, "0": 1}[size], pages)
		}
	})
}

func TestKubectlWatch(t *testing.T) {
	kubectlRig(t, func(r *rig) {
		for _, output := range []string{"", "json"} {
			ctx, cancel := context.WithCancel(r.Context())
			command := r.kubectl(ctx, "get", "pods", "-n", "a", "-w", "-l", "app=web", "--output-watch-events", "-o", output)
			if output == "" {
				command = r.kubectl(ctx, "get", "pods", "-n", "a", "-w", "-l", "app=web", "--output-watch-events")
			}
			stdout, err := command.StdoutPipe()
			require.NoError(r, err)
			require.NoError(r, command.Start())
			next := following(r, stdout, output)
			assert.Equal(r, "ADDED one Running", next())
			r.putPod("a/one", 1, "web", "Failed")
			assert.Equal(r, "MODIFIED one Failed", next())
			r.putPod("b/three", 1, "web", "Running")
			r.putPod("a/three", 1, "web", "Pending")
			assert.Equal(r, "ADDED three Pending", next())
			r.putPod("a/three", 1, "api", "Pending")
			assert.Equal(r, "DELETED three Pending", next(), "no longer matches")
			r.write(pods, "a/one", nil)
			assert.Equal(r, "DELETED one Failed", next())
			cancel()
			_ = command.Wait() // killed
			r.putPod("a/one", 1, "web", "Running")
		}
	})
}

// following returns a function that reads the next event that kubectl prints, and formats
// it as "TYPE NAME PHASE".
func following(r *rig, stdout interface{ Read([]byte) (int, error) }, output string) func() string {
	if output == "json" {
		decoder := json.NewDecoder(stdout)
		return func() string {
			var event struct {
				Type   string
				Object unstructured.Unstructured
			}
			require.NoError(r, decoder.Decode(&event))
			phase, _, _ := unstructured.NestedString(event.Object.Object, "status", "phase")
			return event.Type + " " + event.Object.GetName() + " " + phase
		}
	}
	lines := bufio.NewScanner(stdout)
	require.True(r, lines.Scan())
	require.Equal(r, []string{"EVENT", "NAME", "READY", "STATUS", "RESTARTS", "AGE"}, strings.Fields(lines.Text()))
	return func() string {
		require.True(r, lines.Scan())
		cells := strings.Fields(lines.Text())
		return strings.Join([]string{cells[0], cells[1], cells[3]}, " ")
	}
}

func TestKubectlWaits(t *testing.T) {
	kubectlRig(t, func(r *rig) {
		wait := r.kubectl(r.Context(), "wait", "--for=jsonpath={.status.phase}=Running", "pod/two", "-n", "a", "--timeout=60s")
		gone := r.kubectl(r.Context(), "wait", "--for=delete", "pod/one", "-n", "b", "--timeout=60s")
		var out, goneOut bytes.Buffer
		wait.Stdout, gone.Stdout = &out, &goneOut
		require.NoError(r, wait.Start())
		require.NoError(r, gone.Start())
		r.putPod("a/two", 2, "api", "Running")
		r.write(pods, "b/one", nil)
		require.NoError(r, wait.Wait())
		require.NoError(r, gone.Wait())
		assert.Equal(r, "pod/two condition met\n", out.String())
		r.write(deployments, "a/web", []byte(`{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":"web","namespace":"a","generation":1},`+
			`"spec":{"replicas":1},"status":{"observedGeneration":1,"replicas":1,"updatedReplicas":1,"availableReplicas":1,"readyReplicas":1}}`))
		assert.Equal(r, "deployment \"web\" successfully rolled out\n", r.output("rollout", "status", "deploy/web", "-n", "a"))
	})
}

func TestKubectlDescribe(t *testing.T) {
	kubectlRig(t, func(r *rig) {
		r.write(events, "a/one.1", []byte(`{"kind":"Event","apiVersion":"v1","metadata":{"name":"one.1","namespace":"a"},`+
			`"involvedObject":{"kind":"Pod","name":"one","namespace":"a"},"reason":"Started","message":"all is well","type":"Normal"}`))
		text := r.output("describe", "pod", "one", "-n", "a")
		assert.Contains(r, text, "registry.example.com/app:1")
		assert.Contains(r, text, "all is well")
	})
}

func TestKubectlDiscovery(t *testing.T) {
	kubectlRig(t, func(r *rig) {
		resources := columns(r.output("api-resources", "--no-headers", "--sort-by=name"))
		assert.Len(r, resources, len(catalog.All())+3, "the reviews of the user's own rights")
		assert.Contains(r, resources, []string{"pods", "po", "v1", "true", "Pod"})
		assert.Contains(r, resources, []string{"nodes", "no", "v1", "false", "Node"})
		assert.Contains(r, resources, []string{"secrets", "v1", "true", "Secret"})
		assert.Equal(r, strings.Join(versions(), "\n")+"\n", r.output("api-versions"))
		assert.Contains(r, r.output("get", "all", "-n", "a"), "pod/one")
		assert.Contains(r, r.output("get", "--raw", "/version"), `"gitVersion":"v1.37.2+watchglass`)
		assert.Contains(r, r.output("get", "--raw", "/api/v1/namespaces/a/pods/one"), `"name":"one"`)
		assert.Contains(r, r.output("version"), "Server Version: v1.37.2+watchglass")
	})
}

func TestKubectlShowsErrors(t *testing.T) {
	kubectlRig(t, func(r *rig) {
		assert.Contains(r, r.complains("get", "pod", "nine", "-n", "a"), `Error from server (NotFound): pods "nine" not found`)
		assert.Contains(r, r.complains("get", "unicorns"), `the server doesn't have a resource type "unicorns"`)
		assert.Contains(r, r.complains("get", "pods", "--field-selector", "spec.color=red"), "Error from server (BadRequest): ")
		assert.Contains(r, r.complains("delete", "pod", "one", "-n", "a"), "Error from server (MethodNotAllowed): this API only reads")
		assert.Contains(r, r.complains("label", "pod", "one", "-n", "a", "x=y"), "MethodNotAllowed")
		assert.Contains(r, r.complains("logs", "one", "-n", "a"), "could not find the requested resource")
		r.write(pods, "a/broken", []byte(`{"metadata":`))
		assert.Contains(r, r.complains("get", "pod", "broken", "-n", "a"), "Error from server")
	})
}

// kubectl prints a warning for an object that the connector cannot serve.
func TestKubectlIsWarnedOfFaultyObjects(t *testing.T) {
	r := newRig(t, behind["connector"])
	r.putPod("a/one", 1, "web", "Running")
	r.write(pods, "a/broken", []byte(`{"metadata":`))
	text := r.complainsNot("get", "pods", "-n", "a")
	assert.Regexp(t, `Warning: v1/pods "a/broken" at resource version \d cannot be served: `, text)
	assert.Contains(t, text, "one")
}

// The commands kubectl auth can-i and whoami send reviews as protobuf. Each backend
// permits every read.
func TestKubectlAuth(t *testing.T) {
	kubectlRig(t, func(r *rig) {
		assert.Equal(r, "yes\n", r.output("auth", "can-i", "list", "pods", "-A"))
		assert.Equal(r, "yes\n", r.output("auth", "can-i", "watch", "deployments.apps/web", "-n", "a"))
		assert.Contains(r, r.complains("auth", "can-i", "create", "pods"), "no - this server is a read-only cache")
		rules := columns(r.output("auth", "can-i", "--list", "--no-headers"))
		assert.Contains(r, rules, []string{"*.*", "[]", "[]", "[get", "list", "watch]"})
		assert.Contains(r, rules, []string{"selfsubjectreviews.authentication.k8s.io", "[]", "[]", "[create]"})
		assert.Regexp(r, "^Username +(test|system:anonymous)$", strings.Split(r.output("auth", "whoami"), "\n")[1])
	})
}
