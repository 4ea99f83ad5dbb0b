package kubewatch_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/coretest/kubeserver"
)

// server is an API server with its open responses.
type server struct {
	*kubeserver.Memory
	open       map[uint32]*answer
	expirePage int // if positive, the number of the first continued page that gets a 410
	// fail, if set, returns a response that replaces the server's own, or nil.
	fail  func(path string) *answer
	paths []string
	now   int64
}

// answer is one response in progress.
type answer struct {
	code, retry int
	begun       bool
	data        []byte // not delivered yet
	end         bool
	message     string
	watch       *kubeserver.Response // or nil
}

func newServer() *server {
	return &server{Memory: kubeserver.NewMemory(), open: map[uint32]*answer{}}
}

func (s *server) put(name, app string, restarts int) {
	key := api.Key(name)
	s.Put(key, func(rv api.ResourceVersion) string {
		return fmt.Sprintf(`{"kind":"Pod","apiVersion":"v1","metadata":{"name":%q,"namespace":%q,"uid":"u-%s","resourceVersion":"%d",`+
			`"creationTimestamp":"2026-01-02T03:04:05Z","labels":{"app":%q},"managedFields":[{"manager":"kubectl"}]},`+
			`"spec":{"nodeName":"node-é\"{"},"status":{"phase":"Running","containerStatuses":[{"restartCount":%d}]}}`,
			key.Name(), key.Namespace(), key.Name(), rv, app, restarts)
	})
}

func (s *server) delete(name string) {
	key := api.Key(name)
	last := s.Objects(s.Newest)[key]
	s.Delete(key, func(rv api.ResourceVersion) string {
		return strings.Replace(last.JSON, `"`+last.ResourceVersion.String()+`"`, `"`+rv.String()+`"`, 1)
	})
}

func (s *server) object(key string) string { return s.Objects(s.Newest)[api.Key(key)].JSON }

// modified returns a MODIFIED event with the current state of an object.
func (s *server) modified(key string) []byte { return watchEvent("MODIFIED", s.object(key)) }

// versions returns the versions of all objects, by key.
func (s *server) versions() map[api.Key]api.ResourceVersion {
	all := map[api.Key]api.ResourceVersion{}
	for key, e := range s.Objects(s.Newest) {
		all[key] = e.ResourceVersion
	}
	return all
}

func watchEvent(kind, object string) []byte { return []byte(kubeserver.Line(kind, object)) }

func bookmarkEvent(rv api.ResourceVersion, end bool) []byte {
	return []byte(kubeserver.Bookmark("Pod", rv, end))
}

func refuse(code int, reason, message string) *answer {
	return &answer{code: code, data: []byte(kubeserver.Status(code, reason, message)), end: true}
}

func (s *server) fetch(stream uint32, path string) {
	s.paths = append(s.paths, path)
	s.open[stream] = s.answer(path)
}

func (s *server) answer(path string) *answer {
	if s.fail != nil {
		if a := s.fail(path); a != nil {
			return a
		}
	}
	r, err := kubeserver.ParseRequest(path)
	if err != nil {
		panic(err)
	}
	s.ExpirePages = s.expirePage > 0 && s.count("continue=") >= s.expirePage
	response := s.Respond(r, s.now)
	a := &answer{code: response.Code}
	a.take(response)
	if response.Watching {
		a.watch = response
	} else if r.Purpose == kubeserver.List {
		var spaced bytes.Buffer
		if err := json.Indent(&spaced, a.data, "", " "); err != nil {
			panic(err)
		}
		a.data = spaced.Bytes()
	}
	return a
}

// take moves the pending data of a response to the answer.
func (a *answer) take(from *kubeserver.Response) {
	for _, p := range from.Parts {
		a.data = append(a.data, p.Data...)
	}
	from.Parts, a.end = nil, from.Ended
}

// tick adds all due events and bookmarks to the responses of the open watches.
func (s *server) tick(now int64) {
	s.now = now
	for _, stream := range slices.Sorted(maps.Keys(s.open)) {
		if a := s.open[stream]; a.watch != nil {
			s.Advance(a.watch, now)
			a.take(a.watch)
		}
	}
}
