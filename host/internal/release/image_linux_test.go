package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/host/internal/release/imagetest"
)

func newProbe(t *testing.T) string {
	t.Helper()
	dir := newProject(t)
	probe, err := os.ReadFile("testdata/probe/main.go")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "host/cmd/watchglass/main.go"), probe, 0o600))
	return dir
}

func TestTheEntrypointRunsAsAUserWhoCanWriteNothing(t *testing.T) {
	path, _ := buildImage(t, newProbe(t))
	index, err := imagetest.Open(path, t.TempDir())
	require.NoError(t, err)
	image := imageFor(t, index, runtime.GOARCH)
	root := t.TempDir()
	require.NoError(t, os.Chmod(root, 0o755))
	require.NoError(t, imagetest.Unpack(image, root))
	if os.Getuid() != 0 { // in a user namespace, the image's user owns the files and could otherwise write them
		shell(t, root, "chmod -R a-w .")
		t.Cleanup(func() { shell(t, root, "chmod -R u+w .") })
	}
	cmd, err := imagetest.Command(t.Context(), image, root)
	require.NoError(t, err)
	out, err := cmd.Output()
	skipWithoutNamespaces(t, err)
	require.NoError(t, err)
	require.Equal(t, `user 65532 65532
certificates true
write /new open /new: permission denied
write /etc/new open /etc/new: permission denied
write /watchglass open /watchglass: permission denied
`, string(out))
}

func imageFor(t *testing.T, index v1.ImageIndex, arch string) v1.Image {
	t.Helper()
	manifest, err := index.IndexManifest()
	require.NoError(t, err)
	for _, m := range manifest.Manifests {
		if m.Platform.Architecture == arch {
			image, err := index.Image(m.Digest)
			require.NoError(t, err)
			return image
		}
	}
	require.Fail(t, "no image for "+arch)
	return nil
}

// skipWithoutNamespaces skips the test if the system did not permit the command to change
// the root directory.
func skipWithoutNamespaces(t *testing.T, err error) {
	t.Helper()
	var exit *exec.ExitError
	if errors.Is(err, syscall.EPERM) && !errors.As(err, &exit) {
		t.Skip("the system permits neither chroot nor user namespaces:", err)
	}
}
