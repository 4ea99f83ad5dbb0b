package main

import (
	"bytes"
	"context"
	"encoding/pem"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// imagePlatforms are the platforms of the container image.
var imagePlatforms = []platform{{"linux", "amd64"}, {"linux", "arm64"}}

// imageUser is the unprivileged user and group of the image. Common base images use the
// same IDs.
const imageUser = "65532:65532"

// imageFromWorkingTree builds only the image from the working tree, and prints the path and
// the digest of the image.
func imageFromWorkingTree(ctx context.Context, o options, stdout, stderr io.Writer) error {
	r, err := open(ctx, o.repository, stderr)
	if err != nil {
		return err
	}
	if err := checkOut(o.out); err != nil {
		return err
	}
	when, err := r.commitTime(ctx)
	if err != nil {
		return err
	}
	temp, err := os.MkdirTemp("", "watchglass-image")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	var binaries []binary
	for _, p := range o.platforms {
		if !slices.Contains(imagePlatforms, p) {
			continue
		}
		b, err := r.binary(ctx, p, o.version, temp)
		if err != nil {
			return err
		}
		binaries = append(binaries, b)
	}
	if err := os.MkdirAll(o.out, 0o755); err != nil {
		return err
	}
	if err := r.writeImage(ctx, binaries, o, when); err != nil {
		return err
	}
	digest, err := os.ReadFile(filepath.Join(o.out, imageName(o.version)+".digest"))
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "%s\n%s", filepath.Join(o.out, imageName(o.version)+".tar"), digest)
	return nil
}

func imageName(version string) string { return "watchglass_" + version + "_image" }

// writeImage writes a tar file with an OCI layout, which contains one image for each of
// the imagePlatforms. It also writes a file with the digest of the index, which is the
// same in every registry.
func (r repository) writeImage(ctx context.Context, binaries []binary, o options, when time.Time) error {
	commit, err := r.git(ctx, "rev-parse", "HEAD")
	if err != nil {
		return err
	}
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, b := range binaries {
		if !slices.Contains(imagePlatforms, b.platform) {
			continue
		}
		image, err := newImage(b, o.version, commit, when)
		if err != nil {
			return err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add: image, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: b.platform.os, Architecture: b.platform.arch}},
		})
	}
	digest, err := index.Digest()
	if err != nil {
		return err
	}
	base := filepath.Join(o.out, imageName(o.version))
	if err := writeTo(base+".tar", func(w io.Writer) error { return writeLayout(w, index, o.version, when) }); err != nil {
		return err
	}
	return os.WriteFile(base+".digest", []byte(digest.String()+"\n"), 0o644)
}

// newImage returns an image that contains only a static binary and the files that the
// binary reads.
func newImage(b binary, version, commit string, when time.Time) (v1.Image, error) {
	layer, err := newLayer(b, when)
	if err != nil {
		return nil, err
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err = mutate.Append(image, mutate.Addendum{
		Layer: layer, MediaType: types.OCILayer, History: v1.History{Created: v1.Time{Time: when}, CreatedBy: "watchglass-release"},
	})
	if err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Created = b.platform.os, b.platform.arch, v1.Time{Time: when}
	config.Config = v1.Config{
		User: imageUser, WorkingDir: "/",
		Entrypoint: []string{"/watchglass"},
		Env:        []string{"PATH=/", "HOME=/nonexistent"},
		Labels: map[string]string{
			"org.opencontainers.image.title":       "watchglass",
			"org.opencontainers.image.description": "The Kubernetes watch cache, for browsers and edges",
			"org.opencontainers.image.licenses":    ownLicense,
			"org.opencontainers.image.source":      sourceURL,
			"org.opencontainers.image.version":     version,
			"org.opencontainers.image.revision":    commit,
			"org.opencontainers.image.created":     when.Format(time.RFC3339),
		},
	}
	return mutate.ConfigFile(image, config)
}

// newLayer returns the only layer of an image. All files belong to root, so that the
// image's user cannot change them.
func newLayer(b binary, when time.Time) (v1.Layer, error) {
	var roots bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint != nil {
			continue // omitted, because a PEM file cannot express the constraint
		}
		if err := pem.Encode(&roots, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}); err != nil {
			return nil, err
		}
	}
	dir := os.ModeDir | 0o755
	var content bytes.Buffer
	err := writeTar(&content, []entry{
		{name: "etc/", mode: dir},
		{name: "etc/group", mode: 0o644, content: []byte("root:x:0:\nnonroot:x:65532:\n")},
		{name: "etc/passwd", mode: 0o644, content: []byte("root:x:0:0:root:/nonexistent:/nonexistent\nnonroot:x:65532:65532:nonroot:/nonexistent:/nonexistent\n")},
		{name: "etc/ssl/", mode: dir},
		{name: "etc/ssl/certs/", mode: dir},
		{name: "etc/ssl/certs/ca-certificates.crt", mode: 0o644, content: roots.Bytes()},
		{name: "watchglass", mode: 0o755, source: b.path},
	}, when)
	if err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(
		func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content.Bytes())), nil },
		tarball.WithMediaType(types.OCILayer), tarball.WithCompressedCaching)
}

// writeLayout writes a tar file with an OCI layout that contains the index, tagged with
// the version.
func writeLayout(w io.Writer, index v1.ImageIndex, version string, when time.Time) error {
	dir, err := os.MkdirTemp("", "watchglass-layout")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	path, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	err = path.AppendIndex(index, layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": version}))
	if err != nil {
		return err
	}
	var entries []entry
	err = filepath.WalkDir(dir, func(source string, d os.DirEntry, err error) error { // in lexical order
		if err != nil || source == dir {
			return err
		}
		name, err := filepath.Rel(dir, source)
		if err != nil {
			return err
		}
		if d.IsDir() {
			entries = append(entries, entry{name: name + "/", mode: os.ModeDir | 0o755})
			return nil
		}
		entries = append(entries, entry{name: name, source: source, mode: 0o644})
		return nil
	})
	if err != nil {
		return err
	}
	return writeTar(w, entries, when)
}
