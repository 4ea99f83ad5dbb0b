package main

import (
	"io"
	"log"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/host/internal/release/imagetest"
)

// buildImage builds the image of the project in dir, and returns the path and the digest
// that the command prints.
func buildImage(t *testing.T, dir string) (path, digest string) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "out")
	var stdout strings.Builder
	var log testLog
	err := run(t.Context(), []string{"-image", "-C", dir, "-version", "dev", "-out", out}, &stdout, &log)
	require.NoError(t, err, "%s", log)
	path, digest, _ = strings.Cut(strings.TrimSpace(stdout.String()), "\n")
	return path, digest
}

func TestTheImageHasTwoArchitecturesAndAReproducibleDigest(t *testing.T) {
	path, digest := buildImage(t, newProject(t))
	index, err := imagetest.Open(path, t.TempDir())
	require.NoError(t, err)
	require.NoError(t, validate.Index(index))
	have, err := index.Digest()
	require.NoError(t, err)
	require.Equal(t, digest, have.String())

	manifest, err := index.IndexManifest()
	require.NoError(t, err)
	var platforms []string
	for _, m := range manifest.Manifests {
		platforms = append(platforms, m.Platform.String())
		image, err := index.Image(m.Digest)
		require.NoError(t, err)
		config, err := image.ConfigFile()
		require.NoError(t, err)
		require.Equal(t, m.Platform.Architecture, config.Architecture)
		require.Equal(t, "65532:65532", config.Config.User)
		require.Equal(t, []string{"/watchglass"}, config.Config.Entrypoint)
		require.Equal(t, "dev", config.Config.Labels["org.opencontainers.image.version"])
		require.Equal(t, "2026-01-02T03:04:05Z", config.Config.Labels["org.opencontainers.image.created"])
	}
	require.Equal(t, []string{"linux/amd64", "linux/arm64"}, platforms)

	again, other := buildImage(t, newProject(t))
	require.Equal(t, digest, other)
	first, err := checksum(path)
	require.NoError(t, err)
	second, err := checksum(again)
	require.NoError(t, err)
	require.Equal(t, first, second)
}

func TestTheImageIsPushedUnderItsDigest(t *testing.T) {
	path, digest := buildImage(t, newProject(t))
	registry := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer registry.Close()
	layout := t.TempDir()
	shell(t, layout, "tar -xf "+path)
	ref := strings.TrimPrefix(registry.URL, "http://") + "/watchglass:dev"
	shell(t, ".", "go tool crane push "+layout+" "+ref)
	require.Equal(t, digest+"\n", shell(t, ".", "go tool crane digest "+ref))
}
