package sim

import (
	"strconv"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/cacher"
	"github.com/watchglass/watchglass/core/coretest/objects"
	"github.com/watchglass/watchglass/core/coretest/sentinel"
	"github.com/watchglass/watchglass/core/internal/lite"
	"github.com/watchglass/watchglass/core/sim/check"
)

// kinds are the resources: many mutable pods, and few secrets, some of them
// immutable.
const (
	pods = iota
	secrets
	kinds
)

func schemaOf(kind int) api.Schema {
	if kind == pods {
		return objects.Pods()
	}
	return api.Schema{
		Resource: api.Resource{Version: "v1", Name: "secrets"}, Kind: "Secret", Namespaced: true,
		Fields: []string{"metadata.name", "metadata.namespace"},
	}
}

var resourceNames = [kinds]string{"v1/pods", "v1/secrets"}

// change is the effect of a revision on one object. If put is nil, the change is a
// deletion or, if fault is set, an unreadable version.
type change struct {
	kind  int
	key   api.Key
	put   *cacher.Update
	fault *api.Status
}

type revision struct {
	rv      api.ResourceVersion
	at      int64
	changes []change
}

// source is the database: a named history of revisions.
type source struct {
	name      string
	rv        api.ResourceVersion
	revisions []revision
	compacted api.ResourceVersion
	logs      [kinds]*check.Log
	state     [kinds]map[api.Key]change
	padding   int                // bytes of padding in each body
	largest   int                // longest envelope so far, in bytes
	bodies    map[bodyKey]string // uncompressed body of every version
	planted   *planted
	own       [kinds]map[api.Key]string // sentinels
}

func newSource(name string, rv api.ResourceVersion, padding int, p *planted) *source {
	s := &source{name: name, rv: rv, padding: padding, bodies: map[bodyKey]string{}, planted: p}
	for k := range kinds {
		s.logs[k], s.state[k], s.own[k] = check.NewLog(), map[api.Key]change{}, map[api.Key]string{}
	}
	return s
}

// commit commits changes as one revision.
func (s *source) commit(now int64, changes []change) {
	if len(changes) == 0 {
		return
	}
	s.rv++
	for i := range changes {
		c := &changes[i]
		logged := check.Change{ResourceVersion: s.rv, Key: c.key}
		if c.put == nil && c.fault == nil {
			delete(s.state[c.kind], c.key)
		} else {
			if c.put != nil {
				c.put.ResourceVersion = s.rv
				s.bodies[bodyKey{c.kind, c.key, s.rv}] = string(c.put.Envelope.Body().Data)
				logged.Object = versionOf(schemaOf(c.kind), schemaOf(c.kind), s.rv, c.put.Labels, c.put.Envelope)
			} else {
				logged.Object = &check.Object{Faulty: true, ResourceVersion: s.rv}
			}
			s.state[c.kind][c.key] = *c
		}
		s.logs[c.kind].Append(logged)
	}
	s.revisions = append(s.revisions, revision{s.rv, now, changes})
}

// objectsOf is the number of object names of a kind. Only a few of the secrets exist.
const objectsOf = 24

// keys contains all object keys. Keys with even numbers are in namespace ns0, keys with
// odd numbers in ns1. Two pods have the name p3. All other names contain a sentinel.
var keys = func() (all [kinds][]api.Key) {
	var planted sentinel.Set
	for kind, letter := range [kinds]string{pods: "p", secrets: "s"} {
		for n := range objectsOf {
			name := letter + strconv.Itoa(n/2)
			if name != "p3" {
				name += "-" + planted.Plant(nameOf(kind, n))[:nameLength]
			}
			all[kind] = append(all[kind], api.Key("ns"+strconv.Itoa(n%2)+"/"+name))
		}
	}
	return all
}()

// nameLength is the length of the part of a sentinel that is in a name.
const nameLength = 12

// keyOf returns the key of the n-th object.
func keyOf(kind, n int) api.Key { return keys[kind][n] }

// randomPut returns a version of an object. It uses few labels and phases, so
// that selectors match often and label sets come and go.
func (s *source) randomPut(r *lite.Rand, kind int, key api.Key) *cacher.Update {
	text, sentinel := string(key), s.sentinel(kind, key)
	if r.Int63n(3) > 0 {
		text += " app=" + pick(r, "web", "api", "db")
	}
	if r.Int63n(4) == 0 {
		text += " tier=t" + strconv.FormatInt(r.Int63n(20), 10)
	}
	if r.Int63n(8) == 0 {
		text += " own=" + sentinel
	}
	if kind == pods {
		text += " phase=" + pick(r, "Pending", "Running", "Failed") +
			" nodeName=" + pick(r, "n1", "n2", "n1", "n2", "n1", "n2", "n-"+sentinel) + " restarts=" + strconv.FormatInt(r.Int63n(4), 10)
	}
	schema := schemaOf(kind)
	seed := r.Uint64()
	own := lite.NewRand(seed)
	if own.Int63n(2) == 0 {
		text += " owner=" + s.owner(own, key)
	}
	o := objects.ObjectOf(schema, text)
	o.UID = s.name + "-" + strconv.FormatUint(seed%1000, 10) + "-" + sentinel
	if own.Int63n(3) == 0 {
		o.UID = s.ownerUID(own)
	}
	if was := s.state[kind][key].put; was != nil && own.Int63n(8) > 0 {
		o.UID = was.Envelope.UID()
	}
	if kind == secrets && r.Int63n(2) == 0 {
		o.Flags |= api.Immutable
	}
	o.Body = api.Body{Codec: api.JSON, Data: bodyOf(own, schema, &o, sentinel, s.padding)}
	put := objects.UpdateOf(o)
	s.largest = max(s.largest, len(put.Envelope)+len(put.Body))
	return put
}

// owner returns a random owner, encoded as in objects. Half of the owners have a kind and a name.
func (s *source) owner(r *lite.Rand, object api.Key) string {
	owner := api.Owner{Name: "set", UID: s.ownerUID(r)}
	if r.Int63n(2) == 0 {
		owner.Kind = pick(r, "ReplicaSet", "Cluster")
	}
	return string(owner.Append(nil, object.Name()))
}

// ownerUID returns one of a few UIDs that objects have and refer to. It has no sentinel,
// because readers of an object may read the UID of its owner. Several objects may have the
// same UID, so an object can have several owners, or be its own owner.
func (s *source) ownerUID(r *lite.Rand) string {
	return s.name + "-owner" + strconv.FormatInt(r.Int63n(6), 10)
}

func pick[T any](r *lite.Rand, list ...T) T { return list[r.Int63n(int64(len(list)))] }

// randomChange returns a creation, an update or a deletion.
func (s *source) randomChange(r *lite.Rand, kind int, key api.Key) change {
	c := change{kind: kind, key: key}
	_, exists := s.state[kind][key]
	if exists && r.Int63n(4) == 0 {
		return c
	}
	c.put = s.randomPut(r, kind, key)
	return c
}

func (s *source) randomKey(r *lite.Rand) (int, api.Key) {
	if r.Int63n(5) == 0 {
		return secrets, keyOf(secrets, int(r.Int63n(6)))
	}
	return pods, keyOf(pods, int(r.Int63n(24)))
}

// heal replaces every unreadable version with a readable one.
func (s *source) heal(r *lite.Rand, now int64) {
	for k := range kinds {
		for _, key := range s.logs[k].Keys() {
			if c, ok := s.state[k][key]; ok && c.fault != nil {
				s.commit(now, []change{{kind: k, key: key, put: s.randomPut(r, k, key)}})
			}
		}
	}
}
