package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"time"
)

// entry is a file or directory of an archive. A file has either content or the path of a
// source file.
type entry struct {
	name, source string
	content      []byte
	mode         os.FileMode // includes os.ModeDir for a directory
}

func (e entry) read() ([]byte, error) {
	if e.source == "" {
		return e.content, nil
	}
	return os.ReadFile(e.source)
}

// writeTar writes entries in the given order. The output depends only on the time "when"
// and on the entries' names, modes and contents.
func writeTar(w io.Writer, entries []entry, when time.Time) error {
	out := tar.NewWriter(w)
	for _, e := range entries {
		header := &tar.Header{Name: e.name, Mode: int64(e.mode.Perm()), ModTime: when, Format: tar.FormatUSTAR, Typeflag: tar.TypeReg}
		if e.mode.IsDir() {
			header.Typeflag = tar.TypeDir
			if err := out.WriteHeader(header); err != nil {
				return err
			}
			continue
		}
		content, err := e.read()
		if err != nil {
			return err
		}
		header.Size = int64(len(content))
		if err := out.WriteHeader(header); err != nil {
			return err
		}
		if _, err := out.Write(content); err != nil {
			return err
		}
	}
	return out.Close()
}

func writeTarGzip(w io.Writer, entries []entry, when time.Time) error {
	out, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	return errors.Join(writeTar(out, entries, when), out.Close())
}

func writeZip(w io.Writer, entries []entry, when time.Time) error {
	out := zip.NewWriter(w)
	for _, e := range entries {
		content, err := e.read()
		if err != nil {
			return err
		}
		header := &zip.FileHeader{Name: e.name, Method: zip.Deflate, Modified: when}
		header.SetMode(e.mode)
		file, err := out.CreateHeader(header)
		if err != nil {
			return err
		}
		if _, err := file.Write(content); err != nil {
			return err
		}
	}
	return out.Close()
}

// writeTo creates a file and calls write to fill it.
func writeTo(path string, write func(io.Writer) error) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(write(file), file.Close())
}

func copyFile(from, to string) error {
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, content, 0o644)
}
