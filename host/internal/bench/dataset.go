package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/watchglass/watchglass/host/clustersim"
)

// dataset describes a recording: a list of pods, followed by batches of changes. Each data
// set is recorded once per run.
//
// The directory of a recording contains snapshot.bin and updates.bin, the messages of a
// connector to a reader. The files metadata.bin and metadata-updates.bin contain the
// messages to a reader without bodies. The files list.json and watch.bin contain the same
// data in the format of Kubernetes. A .bin file is a sequence of chunks. Each chunk is
// preceded by its length as four bytes, little endian. In the files with messages, each
// chunk is one message. In watch.bin, each chunk contains the lines of one batch.
type dataset struct {
	pods, updates, batch         int
	bodies, metadata, kubernetes bool // what to record
	churn                        bool // changes also create and delete pods; not supported with kubernetes
}

// data returns the directory of a data set. If this run has not recorded the data set yet,
// data first records it.
func (b *bench) data(ctx context.Context, d dataset) (string, error) {
	dir := filepath.Join(b.dir, d.name())
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	b.logf("  recording %d pods and %d updates", d.pods, d.updates)
	unfinished := dir + ".unfinished"
	if err := os.RemoveAll(unfinished); err != nil {
		return "", err
	}
	if err := os.Mkdir(unfinished, 0o755); err != nil {
		return "", err
	}
	if err := d.record(ctx, unfinished); err != nil {
		return "", fmt.Errorf("recording: %w", err)
	}
	return dir, os.Rename(unfinished, dir)
}

func (d dataset) name() string {
	return strings.NewReplacer("{", "", "}", "", " ", "-").Replace(fmt.Sprint(d))
}

func (d dataset) record(ctx context.Context, dir string) error {
	w, err := newWorld(pods, clustersim.Config{Pods: d.pods})
	if err != nil {
		return err
	}
	w.churn = d.churn
	f := &files{dir: dir}
	var tapes []tape
	if d.bodies {
		tapes = append(tapes, tape{snapshot: f.chunks("snapshot.bin"), updates: f.chunks("updates.bin")})
	}
	if d.metadata {
		tapes = append(tapes, tape{metadataOnly: true, snapshot: f.chunks("metadata.bin"), updates: f.chunks("metadata-updates.bin")})
	}
	if d.kubernetes {
		k := &kubernetes{list: f.create("list.json"), lines: f.chunks("watch.bin"), objects: d.pods, batch: d.batch}
		w.tap = k.tap
	}
	if err := play(ctx, w, d.updates, d.batch, tapes...); err != nil {
		return err
	}
	manifest, err := json.Marshal(map[string]int{"objects": d.pods, "updates": d.updates, "updatesPerBatch": d.batch})
	if err != nil {
		return err
	}
	f.create("manifest.json").Write(manifest)
	return f.close()
}

// files creates the files of a recording. It stores the first error, and its method close
// returns that error.
type files struct {
	dir  string
	open []*file
	err  error
}

type file struct {
	*bufio.Writer
	under *os.File
}

func (f *files) create(name string) io.Writer {
	under, err := os.Create(filepath.Join(f.dir, name))
	if err != nil {
		f.err = err
		return io.Discard
	}
	created := &file{bufio.NewWriterSize(under, 1<<20), under}
	f.open = append(f.open, created)
	return created
}

// chunks creates a .bin file and returns a function that appends a chunk to it.
func (f *files) chunks(name string) func([]byte) {
	w := f.create(name)
	return func(chunk []byte) {
		w.Write(binary.LittleEndian.AppendUint32(nil, uint32(len(chunk))))
		w.Write(chunk)
	}
}

func (f *files) close() error {
	for _, file := range f.open {
		for _, err := range []error{file.Flush(), file.under.Close()} {
			if f.err == nil {
				f.err = err
			}
		}
	}
	return f.err
}

// readChunks returns the chunks of a .bin file.
func readChunks(path string) ([][]byte, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var chunks [][]byte
	for len(data) > 0 {
		n := 4 + binary.LittleEndian.Uint32(data)
		chunks = append(chunks, data[4:n:n])
		data = data[n:]
	}
	return chunks, nil
}
