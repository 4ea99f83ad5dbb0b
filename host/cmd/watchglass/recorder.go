package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/host/client"
	"github.com/watchglass/watchglass/host/recording"
)

// recorder writes the reads of a command to a file. On a nil recorder, all methods except
// Close do nothing.
type recorder struct {
	file       *os.File
	recorder   *recording.Recorder
	collection *recording.Collection
	begun      bool // the file contains a state; otherwise, Close removes the file
}

// newRecorder creates the file of a recording. It does not overwrite a file, because
// recordings are evidence. If a later write fails, the recorder calls failed, and Close
// returns the error.
func newRecorder(name string, resource api.Resource, failed func()) (*recorder, error) {
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if errors.Is(err, os.ErrExist) {
		return nil, fmt.Errorf("%s already exists: name another file, or remove it", name)
	}
	if err != nil {
		return nil, err
	}
	return &recorder{file: file, recorder: recording.New(file, resource, failed)}, nil
}

// Close completes the recording. It removes a recording without a state, so that the
// command can be repeated.
func (r *recorder) Close() error {
	err := errors.Join(r.recorder.Close(), r.file.Close())
	if !r.begun {
		err = errors.Join(err, os.Remove(r.file.Name()))
	}
	if err != nil {
		return fmt.Errorf("recording to %s: %w", r.file.Name(), err)
	}
	return nil
}

func (r *recorder) tap() func(client.Conn) client.Conn {
	if r == nil {
		return nil
	}
	return r.recorder.Tap
}

func (r *recorder) opened(schema api.Schema, options client.CollectionOptions) {
	if r != nil {
		r.collection, r.begun = r.recorder.Collection(schema, options), true
	}
}

func (r *recorder) listed(rv api.ResourceVersion, items []client.Object) {
	if r != nil {
		r.collection.List(recording.Filter{}, rv, items)
	}
}

// watched records a watch. If the field Watch is nil, it does nothing.
type watched struct{ *recording.Watch }

func (r *recorder) watch(options client.WatchOptions) watched {
	if r == nil {
		return watched{}
	}
	return watched{r.collection.Watch(options)}
}

func (w watched) event(e client.Event) {
	if w.Watch != nil {
		w.Events(e)
	}
}

func (w watched) end(err error) {
	if w.Watch != nil {
		w.Close(err)
	}
}
