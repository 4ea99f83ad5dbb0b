package objcache

import (
	"math/rand"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
)

// model predicts the observable behavior of a cache.
type model struct {
	*world
	rand     *rand.Rand
	refs     map[ID]map[string]int
	follows  map[ID]int
	shown    map[ID]api.ResourceVersion // the newest version that was served, by item
	read     map[ID]int64
	asked    []question
	releases int // releases of references that were not held
	happened map[string]int
}

type question struct {
	id     ID
	at     int64
	answer *answer
}

// TestAgainstASimpleModel runs random operations on a cache and a model. The references
// in the cache equal the references in the model. Within a second, every Get returns a
// result that the sources justify. Versions never decrease, idle items stop, and no state
// is left at the end.
func TestAgainstASimpleModel(t *testing.T) {
	happened := map[string]int{}
	for seed := range int64(200) {
		w := newWorld(t, Config{MaxIdleMillis: 2 * minute})
		m := &model{
			world: w, rand: rand.New(rand.NewSource(seed)), refs: map[ID]map[string]int{}, follows: map[ID]int{},
			shown: map[ID]api.ResourceVersion{}, read: map[ID]int64{}, happened: happened,
		}
		for range 300 {
			m.step()
			m.check()
		}
		m.end()
	}
	for _, what := range []string{
		"object", "absent", "timeout", "not registered", "copy", "covered", "swept", "served while the source loads", "recreated",
	} {
		require.NotZero(t, happened[what], "never happened: %s", what)
	}
}

func (m *model) id() ID { return secret([]string{"a", "b", "c"}[m.rand.Intn(3)]) }

func (m *model) step() {
	id, owner := m.id(), []string{"x", "y"}[m.rand.Intn(2)]
	switch m.rand.Intn(20) {
	case 0, 1, 2:
		m.add(id, owner)
		if m.refs[id] == nil {
			m.refs[id], m.shown[id], m.read[id] = map[string]int{}, 0, m.now
		}
		m.refs[id][owner]++
	case 3, 4:
		m.remove(id, owner)
	case 5, 6, 7, 8:
		m.ask(id)
	case 9, 10:
		if _, there := m.objects[id.Key]; !there {
			m.happened["recreated"]++
		}
		m.put(id, "u", m.rand.Intn(2) == 0)
	case 11:
		m.delete(id)
	case 12:
		if m.refs[id] != nil {
			m.cache.Follow(id)
			m.follows[id]++
		}
	case 13:
		if m.follows[id] > 0 {
			m.follows[id]--
			m.read[id] = m.now
		}
		m.cache.Unfollow(id)
	case 14:
		if n := len(m.covers); m.rand.Intn(4) == 0 {
			m.cover()
		} else if n > 0 {
			m.uncover(m.covers[m.rand.Intn(n)])
		}
	case 15:
		m.slow = !m.slow
	case 16, 17:
		for _, s := range slices.Concat(m.own, m.covers) {
			if !m.slow && m.rand.Intn(2) == 0 {
				s.see()
			}
		}
		m.cache.Settle()
	case 18:
		m.tick(int64(m.rand.Intn(3000)))
	case 19:
		before := len(m.own)
		m.tick(int64(m.rand.Intn(4 * minute)))
		if len(m.own) < before {
			m.happened["swept"]++
		}
	}
}

func (m *model) remove(id ID, owner string) {
	held := m.refs[id][owner] > 0
	if !held {
		m.releases++
	} else if m.refs[id][owner]--; m.refs[id][owner] == 0 {
		delete(m.refs[id], owner)
	}
	if len(m.refs[id]) == 0 {
		delete(m.refs, id)
		delete(m.follows, id)
	}
	require.Equal(m.t, held, m.cache.Remove(id, owner))
}

// ask calls Get, and checks the result when it arrives.
func (m *model) ask(id ID) {
	registered := m.refs[id] != nil
	m.read[id] = m.now
	q := question{id, m.now, &answer{}}
	m.asked = append(m.asked, q)
	m.cache.Get(id, func(o *Object, status *api.Status) {
		require.False(m.t, q.answer.came)
		q.answer.came = true
		switch {
		case !registered:
			m.happened["not registered"]++
			require.ErrorContains(m.t, status, "not registered")
		case o != nil:
			m.happened["object"]++
			m.judge(id, o)
		case status.Code == 404:
			m.happened["absent"]++
			m.judgeAbsence(id)
		case status.Code == 504:
			m.happened["timeout"]++
			require.GreaterOrEqual(m.t, m.now, q.at+waitMillis)
		default:
			require.Nil(m.t, m.refs[id], "%v", status)
		}
	})
}

// sources returns the loaded sources that cover the object.
func (m *model) sources(id ID) []*source {
	return slices.DeleteFunc(slices.Concat(m.own, m.covers), func(s *source) bool {
		return !s.loaded || s.id.Key != "" && s.id != id
	})
}

func (m *model) judge(id ID, o *Object) {
	it := m.cache.byID[id]
	if it.copy != nil {
		m.happened["copy"]++
		if it.source != nil {
			m.happened["served while the source loads"]++
		}
	}
	require.LessOrEqual(m.t, o.ResourceVersion, m.rv)
	for _, s := range m.sources(id) {
		if s.version.ResourceVersion < m.shown[id] {
			continue // the source is known to lag
		}
		if it.source != nil && !it.own && it.source != Source(s) {
			continue // all collections that cover the object are equivalent
		}
		v, there := s.objects[id.Key]
		require.LessOrEqual(m.t, v.rv, o.ResourceVersion, "an open source has a newer version")
		require.True(m.t, there || s.version.ResourceVersion < o.ResourceVersion, "an open source has its deletion")
	}
	version := m.versionOf(it, o)
	require.GreaterOrEqual(m.t, version, m.shown[id], "an older version")
	m.shown[id] = version
}

// versionOf returns the resource version up to which a served object is known to be
// current. The object's own resource version may be older.
func (m *model) versionOf(it *item, o *Object) api.ResourceVersion {
	if it.source != nil && it.loadedAt != 0 {
		return it.minimum.ResourceVersion
	}
	return max(o.ResourceVersion, m.shown[it.id])
}

func (m *model) judgeAbsence(id ID) {
	s, _ := m.cache.byID[id].source.(*source)
	require.True(m.t, s != nil && s.loaded, "reported absent without proof")
	require.NotContains(m.t, s.objects, id.Key)
	require.GreaterOrEqual(m.t, s.version.ResourceVersion, m.shown[id], "an older version")
	m.shown[id] = s.version.ResourceVersion
}

func (m *model) check() {
	m.cache.Settle()
	m.asked = slices.DeleteFunc(m.asked, func(q question) bool {
		require.True(m.t, q.answer.came || m.now < q.at+waitMillis, "no reply within a second")
		return q.answer.came
	})
	n, references := m.cache.Inspect(), 0
	for _, h := range m.cache.Holders() {
		require.Equal(m.t, m.refs[h.ID][h.Owner], h.Count)
		references += h.Count
	}
	require.Equal(m.t, len(m.refs), n.Items)
	require.Equal(m.t, references, n.References)
	require.Equal(m.t, m.releases, n.Ignored)
	require.Equal(m.t, len(m.own), n.Watches)
	if n.Covered > 0 {
		m.happened["covered"]++
	}
	for id := range m.refs {
		it := m.cache.byID[id]
		require.True(m.t, m.follows[id] == 0 || it.source != nil, "followed without a watch")
		if len(m.covers) > 0 && it.source != nil && it.own {
			require.Less(m.t, m.covers[0].version.ResourceVersion, it.minimum.ResourceVersion, "an open collection covers it")
		}
	}
}

func (m *model) end() {
	for id := range m.follows {
		for range m.follows[id] {
			m.cache.Unfollow(id)
		}
	}
	m.slow, m.covers = false, nil
	m.spread()
	m.tick(10 * minute)
	require.Empty(m.t, m.own, "all idle")
	require.Zero(m.t, m.cache.NextTick())
	for id, owners := range m.refs {
		for owner, n := range owners {
			for range n {
				m.remove(id, owner)
			}
		}
	}
	n := m.cache.Inspect()
	require.Equal(m.t, Counters{Ignored: m.releases}, n)
	require.Empty(m.t, m.own)
	require.Equal(m.t, m.lists, m.closed, "every opened watch is closed")
}
