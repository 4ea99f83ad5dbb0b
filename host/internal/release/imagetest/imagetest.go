// Package imagetest unpacks a container image and runs it without a container engine.
package imagetest

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
)

// Open unpacks the tar file of an OCI layout into dir and returns its only index.
func Open(path, dir string) (v1.ImageIndex, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if err := unpack(file, dir); err != nil {
		return nil, err
	}
	all, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		return nil, err
	}
	manifest, err := all.IndexManifest()
	if err != nil {
		return nil, err
	}
	if len(manifest.Manifests) != 1 {
		return nil, fmt.Errorf("%s names %d images, expected one index", path, len(manifest.Manifests))
	}
	return all.ImageIndex(manifest.Manifests[0].Digest)
}

// Unpack writes the files of an image into dir.
func Unpack(image v1.Image, dir string) error {
	files := mutate.Extract(image)
	return errors.Join(unpack(files, dir), files.Close())
}

func unpack(r io.Reader, dir string) error {
	for in := tar.NewReader(r); ; {
		header, err := in.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if !filepath.IsLocal(header.Name) {
			return fmt.Errorf("%q is outside of the archive", header.Name)
		}
		path, mode := filepath.Join(dir, header.Name), header.FileInfo().Mode()
		if mode.IsDir() {
			err = os.MkdirAll(path, 0o755)
		} else {
			err = writeFile(path, in)
		}
		if err != nil {
			return err
		}
		if err := os.Chmod(path, mode.Perm()); err != nil { // the umask may have cleared bits
			return err
		}
	}
}

func writeFile(path string, content io.Reader) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, content)
	return errors.Join(err, file.Close())
}
