package recording

import (
	"context"
	"errors"
	"time"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/catalog"
	"github.com/watchglass/watchglass/core/objectjson"
	"github.com/watchglass/watchglass/host/source"
)

// Source records the changes in a source until ctx is done, and then returns nil. If progress is
// not nil, Source calls it with each version up to which the recording is complete. Source
// resumes a failed stream. If a stream fails without progress, or cannot be resumed, Source
// returns the error.
func (r *Recorder) Source(ctx context.Context, src source.Source, resource api.Resource, progress func(api.ResourceVersion)) error {
	schema, err := src.Schema(ctx, resource)
	if err != nil {
		return err
	}
	scanner, err := catalog.NewScanner(schema)
	if err != nil {
		return err
	}
	s := &sink{recorder: r, schema: schema, scanner: scanner, progress: progress}
	for {
		from := s.at
		err := src.Stream(ctx, resource, from, s)
		if ctx.Err() != nil {
			return nil
		}
		if s.at == from || errors.Is(err, api.Expired("")) {
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
}

// pause is the time between a failed stream and the next one.
const pause = time.Second

// sink records the streams of a source.
type sink struct {
	recorder *Recorder
	schema   *api.Schema
	scanner  *objectjson.Scanner
	state    []Object
	progress func(api.ResourceVersion)
	at       api.ResourceVersion // everything up to this version is recorded
}

var _ source.Sink = (*sink)(nil)

func (s *sink) Identify(name string) error {
	s.recorder.identify(name)
	return nil
}

func (s *sink) BeginList() error {
	s.state = []Object{}
	return nil
}

func (s *sink) Object(key api.Key, rv api.ResourceVersion, value []byte) error {
	o := s.object(key, rv, value)
	o.Key = clone(key)
	s.state = append(s.state, *o)
	return nil
}

func (s *sink) EndList(rv api.ResourceVersion) error {
	s.recorder.write(&Line{Kind: kindState, ResourceVersion: rv, Objects: s.state})
	s.state = nil
	s.reached(rv)
	return nil
}

func (s *sink) Changes(changes []source.Change) error {
	for _, c := range changes {
		l := &Line{Kind: kindChange, ResourceVersion: c.ResourceVersion, Key: clone(c.Key)}
		if c.Value != nil {
			l.Object = s.object(c.Key, c.ResourceVersion, c.Value)
		}
		s.recorder.write(l)
	}
	if n := len(changes); n > 0 {
		s.reached(changes[n-1].ResourceVersion)
	}
	return nil
}

func (s *sink) Progress(rv api.ResourceVersion) error {
	s.recorder.write(&Line{Kind: kindProgress, ResourceVersion: rv})
	s.reached(rv)
	return nil
}

// Wanted implements source.Sink. No reader of a recording waits for progress.
func (s *sink) Wanted() <-chan struct{} { return nil }

func (s *sink) reached(rv api.ResourceVersion) {
	s.at = max(s.at, rv)
	if s.progress != nil {
		s.progress(rv)
	}
}

// object parses a value. If the value is unreadable, object returns an Object with a
// Fault.
func (s *sink) object(key api.Key, rv api.ResourceVersion, value []byte) *Object {
	o := &Object{ResourceVersion: rv}
	scanned, err := s.scanner.Scan(value, objectjson.Options{})
	if err == nil && scanned.Key != key {
		err = errors.New("its metadata has the key " + string(scanned.Key))
	}
	if err != nil {
		o.Fault = err.Error()
		return o
	}
	o.UID, o.Labels = string([]byte(scanned.UID)), labelsOf(scanned.Labels)
	for i, name := range s.schema.Fields {
		o.set(name, string([]byte(scanned.Fields[i])))
	}
	return o
}
