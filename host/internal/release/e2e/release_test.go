package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"

	"github.com/watchglass/watchglass/host/internal/release/imagetest"
)

const (
	version    = "v0.2.0"
	modulePath = "github.com/watchglass/watchglass"
)

// released is a release of the current commit, built in a copy of the repository.
type released struct {
	root string // directory of the repository
	copy string // directory of the copy, which contains the release's tag
	out  string // directory of the released files
}

func command(t *testing.T, dir string, env []string, name string, args ...string) string {
	t.Helper()
	var failure strings.Builder
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Env, cmd.Stderr = dir, append(os.Environ(), env...), &failure
	out, err := cmd.Output()
	require.NoError(t, err, "%s %s\n%s%s", name, strings.Join(args, " "), out, failure.String())
	return string(out)
}

func TestARelease(t *testing.T) {
	r := newRelease(t)
	t.Run("can be checked", func(t *testing.T) {
		command(t, r.out, nil, "sha256sum", "--strict", "-c", "checksums.txt")
	})
	t.Run("has a binary that knows its version", r.archive)
	t.Run("has an image that runs", r.image)
	t.Run("has a chart that Helm installs", r.chart)
	t.Run("installs from npm", r.npm)
	t.Run("installs with Go", r.goInstall)
}

// newRelease builds a release of the current commit with binaries for only this platform.
func newRelease(t *testing.T) released {
	t.Helper()
	root := strings.TrimSpace(command(t, ".", nil, "git", "rev-parse", "--show-toplevel"))
	r := released{root, filepath.Join(t.TempDir(), "copy"), filepath.Join(t.TempDir(), "out")}
	command(t, ".", nil, "git", "clone", "--quiet", "--shared", root, r.copy)
	command(t, "..", []string{"npm_config_prefer_offline=true"}, "go", "run", ".", "-C", r.copy, "-version", version, "-out", r.out,
		"-platforms", runtime.GOOS+"/"+runtime.GOARCH)
	return r
}

func (r released) archive(t *testing.T) {
	dir := t.TempDir()
	base := fmt.Sprintf("watchglass_%s_%s_%s", version, runtime.GOOS, runtime.GOARCH)
	command(t, dir, nil, "tar", "-xzf", filepath.Join(r.out, base+".tar.gz"))
	tag := strings.TrimSpace(command(t, r.copy, nil, "git", "rev-parse", version+"^{commit}"))
	require.Equal(t, fmt.Sprintf("watchglass %s (commit %s, %s, %s/%s)\n", version, tag, runtime.Version(), runtime.GOOS, runtime.GOARCH),
		command(t, dir, nil, filepath.Join(dir, base, "watchglass"), "version"))
}

func (r released) image(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the image is for Linux")
	}
	index, err := imagetest.Open(filepath.Join(r.out, "watchglass_"+version+"_image.tar"), t.TempDir())
	require.NoError(t, err)
	manifest, err := index.IndexManifest()
	require.NoError(t, err)
	image, err := index.Image(manifest.Manifests[0].Digest)
	require.NoError(t, err)
	root := t.TempDir()
	require.NoError(t, os.Chmod(root, 0o755))
	require.NoError(t, imagetest.Unpack(image, root))
	entrypoint, err := imagetest.Command(t.Context(), image, root, "serve", "--etcd-endpoints", unreachable, "--listen", "127.0.0.1:0")
	require.NoError(t, err)
	address := start(t, entrypoint)
	require.Equal(t, http.StatusOK, status(t, "http://"+address+"/healthz"))
	require.Contains(t, get(t, "http://"+address+"/"), `<script type="module"`, "the dashboard")
}

// chart tests that helm can render the released chart. Package deploy of host/conformance
// installs the same chart in a cluster.
func (r released) chart(t *testing.T) {
	require.FileExists(t, helm, "run make test-release, which builds it")
	home := t.TempDir()
	env := []string{"HELM_CACHE_HOME=" + home, "HELM_CONFIG_HOME=" + home, "HELM_DATA_HOME=" + home}
	manifests := command(t, ".", env, helm, "template", "watchglass", filepath.Join(r.out, "watchglass-chart-"+strings.TrimPrefix(version, "v")+".tgz"),
		"--namespace", "watchglass", "--set", "prometheusRule.enabled=true")
	require.Contains(t, manifests, "helm.sh/chart: watchglass-"+strings.TrimPrefix(version, "v")+"\n")
	require.Contains(t, manifests, "image: ghcr.io/watchglass/watchglass:"+version+"\n")
	require.Contains(t, manifests, "- alert: WatchglassAbsent", "a file of the chart beside its templates")
}

// npm installs the released tarball and its optional peer dependency, and runs a program
// that counts the pods of a demo.
func (r released) npm(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "package.json"), []byte(`{"type": "module"}`), 0o600))
	command(t, dir, nil, "npm", "install", "--offline", "--no-audit", "--no-fund",
		filepath.Join(r.out, "watchglass-"+strings.TrimPrefix(version, "v")+".tgz"), filepath.Join(r.root, "js/node_modules/ws"))
	const program = `
import { connect } from "watchglass";
import { readFile } from "node:fs/promises";
const { version } = JSON.parse(await readFile(new URL(import.meta.resolve("watchglass/package.json"))));
const wg = await connect(process.argv[2]);
const pods = wg.collection("v1/pods");
const view = pods.view({ limit: 1 });
view.subscribe(() => {
  if (pods.status.state !== "live" || view.snapshot.total === 0) return;
  console.log(version, "has pods");
  process.exit(0);
});
`
	require.NoError(t, os.WriteFile(filepath.Join(dir, "pods.js"), []byte(program), 0o600))
	address := start(t, exec.Command(r.binary(t), "demo", "--pods", "50", "--listen", "127.0.0.1:0"))
	require.Equal(t, "0.2.0 has pods\n", command(t, dir, nil, "node", "pods.js", "ws://"+address+"/watch"))
}

// binary unpacks the released archive and returns the path of the command.
func (r released) binary(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	base := fmt.Sprintf("watchglass_%s_%s_%s", version, runtime.GOOS, runtime.GOARCH)
	command(t, dir, nil, "tar", "-xzf", filepath.Join(r.out, base+".tar.gz"))
	return filepath.Join(dir, base, "watchglass")
}

// goInstall installs the command from a module proxy that serves the tag. It also builds
// the client example in an empty module. Both builds use only files that the tag contains.
func (r released) goInstall(t *testing.T) {
	env, bin := r.proxy(t)
	command(t, t.TempDir(), env, "go", "install", modulePath+"/host/cmd/watchglass@"+version)
	watchglass := filepath.Join(bin, "watchglass")
	require.Contains(t, command(t, ".", nil, watchglass, "version"), "watchglass "+version+" (")

	dir := t.TempDir()
	example := command(t, r.copy, nil, "git", "show", version+":examples/embed-go/main.go")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "main.go"), []byte(example), 0o600))
	command(t, dir, env, "go", "mod", "init", "example.com/embed")
	command(t, dir, env, "go", "get", modulePath+"/host/client@"+version)
	command(t, dir, env, "go", "build", "-o", "embed", ".")

	serving := start(t, exec.Command(watchglass, "serve", "--etcd-endpoints", unreachable, "--listen", "127.0.0.1:0"))
	require.Equal(t, http.StatusOK, status(t, "http://"+serving+"/healthz"))
	require.Contains(t, get(t, "http://"+serving+"/"), `<script type="module"`, "the dashboard")

	address := start(t, exec.Command(watchglass, "demo", "--pods", "50", "--listen", "127.0.0.1:0"))
	line, _ := first(t, exec.Command(filepath.Join(dir, "embed"), "ws://"+address+"/watch"), regexp.MustCompile(`^ADDED \S+/\S+ at \d+$`))
	require.NotEmpty(t, line)
}

// proxy creates a file-based Go module proxy that serves the tag. The returned environment
// makes the go command use only this proxy and this machine's module cache. In that
// environment, go install writes binaries to the directory bin.
func (r released) proxy(t *testing.T) (env []string, bin string) {
	t.Helper()
	dir := t.TempDir()
	versions := filepath.Join(dir, modulePath, "@v")
	require.NoError(t, os.MkdirAll(versions, 0o755))
	file, err := os.Create(filepath.Join(versions, version+".zip"))
	require.NoError(t, err)
	require.NoError(t, zip.CreateFromVCS(file, module.Version{Path: modulePath, Version: version}, r.copy, version, ""))
	require.NoError(t, file.Close())
	info, err := json.Marshal(map[string]string{"Version": version})
	require.NoError(t, err)
	for name, content := range map[string]string{
		version + ".info": string(info),
		version + ".mod":  command(t, r.copy, nil, "git", "show", version+":go.mod"),
		"list":            version + "\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(versions, name), []byte(content), 0o600))
	}
	cache := strings.TrimSpace(command(t, ".", nil, "go", "env", "GOMODCACHE"))
	bin = t.TempDir()
	return []string{
		"GOPROXY=file://" + dir + ",file://" + cache + "/cache/download", "GOSUMDB=off", "GONOSUMDB=", "GONOPROXY=", "GOPRIVATE=",
		"GOMODCACHE=" + filepath.Join(t.TempDir(), "mod"), "GOBIN=" + bin,
		"GOFLAGS=-trimpath -modcacherw", "GOWORK=off", "CGO_ENABLED=0", // the same flags as a release, so that the packages are in the build cache
	}, bin
}

// helm is the path of the Helm that "make conformance" uses.
const helm = "../../../conformance/chart/bin/helm-v4.3.1"

// unreachable is an address at which no etcd listens.
const unreachable = "127.0.0.1:1"

var serves = regexp.MustCompile(`http://(127\.0\.0\.1:\d+)`)

// start runs a server until the test ends, and returns the address that it prints.
func start(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	_, groups := first(t, cmd, serves)
	return groups[1]
}

// first runs a program until the test ends. It returns the first line of the output that
// matches pattern, and the groups of the match.
func first(t *testing.T, cmd *exec.Cmd, pattern *regexp.Regexp) (string, []string) {
	t.Helper()
	var failure strings.Builder
	cmd.Stderr = &failure
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	err = cmd.Start()
	if isForbidden(cmd, err) {
		require.Empty(t, os.Getenv("CI"), "CI must permit user namespaces, or the image is never run")
		t.Skip("the system permits neither chroot nor user namespaces:", err)
	}
	require.NoError(t, err)
	drained := make(chan struct{})
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt) // fails if the program has ended
		<-drained
		_ = cmd.Wait() // fails if the interrupt ended the program
	})
	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		if groups := pattern.FindStringSubmatch(lines.Text()); groups != nil {
			go func() {
				defer close(drained)
				_, _ = io.Copy(io.Discard, stdout)
			}()
			return lines.Text(), groups
		}
	}
	close(drained)
	require.Fail(t, "the program ended before it printed "+pattern.String(), "%v: %s", cmd, failure.String())
	return "", nil
}

func isForbidden(cmd *exec.Cmd, err error) bool {
	path, ok := err.(*os.PathError)
	return ok && path.Err == syscall.EPERM && cmd.SysProcAttr != nil
}

func request(t *testing.T, url string) *http.Response {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	require.NoError(t, err)
	response, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	t.Cleanup(func() { _ = response.Body.Close() })
	return response
}

func status(t *testing.T, url string) int {
	t.Helper()
	return request(t, url).StatusCode
}

func get(t *testing.T, url string) string {
	t.Helper()
	body, err := io.ReadAll(request(t, url).Body)
	require.NoError(t, err)
	return string(body)
}
