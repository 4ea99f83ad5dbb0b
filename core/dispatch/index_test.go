package dispatch_test

import (
	"math/rand"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/coretest/objects"
	"github.com/watchglass/watchglass/core/dispatch"
	"github.com/watchglass/watchglass/core/history"
	"github.com/watchglass/watchglass/core/selector"
	"github.com/watchglass/watchglass/core/store"
	"github.com/watchglass/watchglass/core/watcher"
)

// feed is a collection that generates events. Each event is valid until the next.
type feed struct {
	t     *testing.T
	arena *store.Arena
	state *store.Store
	last  history.Event
	rv    api.ResourceVersion
}

func newFeed(t *testing.T) *feed {
	arena := store.NewArena()
	return &feed{t: t, arena: arena, state: store.New(arena), rv: 1}
}

// do applies one change: an object in the short notation, or a deletion such as
// "-default/a".
func (f *feed) do(text string) *history.Event {
	f.arena.Release(f.last.Previous)
	f.rv++
	text, deleted := strings.CutPrefix(text, "-")
	text += " rv=" + f.rv.String()
	e := history.Event{ResourceVersion: f.rv}
	if deleted {
		e.Previous = f.state.Remove(objects.Object(text).Key)
		require.NotZero(f.t, e.Previous, "%s is not there to be deleted", text)
	} else {
		e.Current = objects.Version(f.arena, text)
		if e.Previous = f.state.Set(e.Current); e.Previous != 0 {
			e.Unchanged = objects.Unchanged(f.arena.Envelope(e.Previous), f.arena.Envelope(e.Current))
		}
	}
	f.last = e
	return &f.last
}

func (f *feed) filter(namespace, labels, fields string) *watcher.Filter {
	schema := objects.Pods()
	filter, status := watcher.NewFilter(f.arena, &schema, namespace, objects.Select(labels, fields))
	require.Nil(f.t, status)
	return filter
}

// wish is the specification of a filter.
type wish struct {
	namespace string
	labels    string
	fields    string
	number    int
}

// matches reports whether a version matches the filter. It parses and evaluates the
// selectors without any cache.
func (w *wish) matches(t *testing.T, arena *store.Arena, ref store.Ref) bool {
	if ref == 0 || !arena.Key(ref).InNamespace(w.namespace) {
		return false
	}
	labels, err := selector.ParseLabels(w.labels)
	require.NoError(t, err)
	fields, err := selector.ParseFields(w.fields)
	require.NoError(t, err)
	schema := objects.Pods()
	return labels.Matches(arena.LabelsOf(ref)) && fields.Matches(func(name string) (string, bool) {
		return arena.Envelope(ref).Field(schema.Field(name)), true
	})
}

func pick(random *rand.Rand, texts ...string) string { return texts[random.Intn(len(texts))] }

// manyValues are more values than the index stores per filter: the even numbers below
// 80.
var manyValues = func() string {
	var values []string
	for i := range 40 {
		values = append(values, strconv.Itoa(2*i))
	}
	return strings.Join(values, ",")
}()

func randomWish(random *rand.Rand) wish {
	w := wish{namespace: pick(random, "", "", "n1", "n2", "n3")}
	digit := func() string { return strconv.Itoa(random.Intn(4)) }
	var labels, fields []string
	for range random.Intn(4) {
		key := pick(random, "a", "b", "c")
		labels = append(labels, pick(random,
			key+"="+digit(), key+"=="+digit(), key+"!="+digit(), key, "!"+key, key+" in ("+digit()+","+digit()+")", key+" in (,"+digit()+")", key+" in ("+manyValues+")",
			key+" notin ("+digit()+",9)", key+">"+digit(), key+"<"+digit()))
	}
	for range random.Intn(3) {
		fields = append(fields, pick(random,
			"metadata.name=p"+digit(), "metadata.namespace=n"+digit(), "status.phase=", "status.phase=Running",
			"status.phase!=Failed", "spec.nodeName=node-"+digit(), "spec.nodeName!="))
	}
	w.labels, w.fields = strings.Join(labels, ","), strings.Join(fields, ",")
	return w
}

func randomObject(random *rand.Rand, step int) string {
	text := pick(random, "n1", "n2", "n3") + "/p" + strconv.Itoa(random.Intn(5))
	for _, key := range []string{"a", "b", "c"} {
		if random.Intn(3) > 0 {
			text += " " + key + "=" + strconv.Itoa(random.Intn(4))
		}
	}
	if random.Intn(3) == 0 { // a unique label set, whose ID is soon reused
		text += " d=" + strconv.Itoa(step)
	}
	text += pick(random, "", " phase=Running", " phase=Failed")
	return text + pick(random, "", " nodeName=node-1", " nodeName=node-2")
}

// Filters that Find does not return do not match the change, for any selectors (C25).
// This holds while filters are added and removed and label set IDs are reused.
func TestC25_IndexFindsAllMatchingFilters(t *testing.T) {
	found, matched := 0, 0
	for seed := range int64(30) {
		random := rand.New(rand.NewSource(seed))
		f := newFeed(t)
		index := dispatch.NewIndex[*wish](f.arena)
		filters := map[*wish]*watcher.Filter{}
		var open []*dispatch.Entry[*wish]
		for step := range 300 {
			for range random.Intn(5) {
				w := randomWish(random)
				w.number = step
				filters[&w] = f.filter(w.namespace, w.labels, w.fields)
				open = append(open, &dispatch.Entry[*wish]{Value: &w})
				index.Add(filters[&w], open[len(open)-1])
			}
			for len(open) > 0 && random.Intn(2+200/len(open)) == 0 {
				i := random.Intn(len(open))
				index.Remove(open[i])
				index.Remove(open[i])
				open = slices.Delete(open, i, i+1)
			}
			text := randomObject(random, step)
			if name, _, _ := strings.Cut(text, " "); f.state.Get(api.Key(name)) != 0 && random.Intn(3) == 0 {
				text = "-" + name
			}
			e := f.do(text)
			var want, got []*wish
			for _, entry := range open {
				if w := entry.Value; w.matches(t, f.arena, e.Current) || w.matches(t, f.arena, e.Previous) {
					want = append(want, w)
				}
			}
			for _, entry := range index.Find(e) {
				if _, _, ok := filters[entry.Value].Convert(e); ok {
					got = append(got, entry.Value)
				}
				found++
			}
			require.Equal(t, want, got, "seed %d, step %d: %s", seed, step, text)
			matched += len(want)
		}
		for _, entry := range open {
			index.Remove(entry)
		}
		require.Zero(t, index.Held(), "removed filters leave nothing behind")
	}
	assert.NotZero(t, matched)
	assert.Less(t, found, 3*matched, "the index excludes entries")
}

// A filter uses few index keys, regardless of the number of allowed values.
func TestFilterOfManyValuesUsesFewIndexKeys(t *testing.T) {
	f := newFeed(t)
	index := dispatch.NewIndex[int](f.arena)
	for i := range 100 {
		index.Add(f.filter("", "app in ("+manyValues+"),tier=web,zone in ("+manyValues+")", ""), &dispatch.Entry[int]{Value: i})
		index.Add(f.filter("", "app in ("+manyValues+")", ""), &dispatch.Entry[int]{Value: i})
	}
	assert.Equal(t, 2*200, index.Held(), "each entry once by its position and once in the list of all")
	without := objects.Version(f.arena, "ns/a rv=1 tier=db")
	assert.Empty(t, index.Find(&history.Event{Current: without}))
	with := objects.Version(f.arena, "ns/b rv=1 app=4")
	assert.Len(t, index.Find(&history.Event{Current: with}), 100)
}

// The index finds only filters whose most selective condition the object meets,
// although all filters share the other conditions (C22, C24).
func TestC24_IndexFindsFew(t *testing.T) {
	for _, c := range []struct {
		name   string
		wish   func(i string) wish
		scoped bool // a condition on the key
	}{
		{"a label", func(i string) wish { return wish{labels: "app=app-" + i} }, false},
		{"a label among others", func(i string) wish { return wish{labels: "app=app-" + i + ",tier=web,zone", namespace: "ns"} }, false},
		{"one of several values", func(i string) wish { return wish{labels: "app in (app-" + i + ",x-" + i + ")"} }, false},
		{"presence", func(i string) wish { return wish{labels: "app-" + i, fields: "status.phase!=Failed"} }, false},
		{"a name", func(i string) wish { return wish{fields: "metadata.name=pod-" + i, labels: "tier=web"} }, true},
		{"a field", func(i string) wish { return wish{fields: "spec.nodeName=node-" + i, labels: "tier=web"} }, false},
		{"a namespace", func(i string) wish { return wish{namespace: "ns-" + i, labels: "!canary"} }, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFeed(t)
			index := dispatch.NewIndex[string](f.arena)
			for i := range 1000 {
				text := strconv.Itoa(i)
				w := c.wish(text)
				index.Add(f.filter(w.namespace, w.labels, w.fields), &dispatch.Entry[string]{Value: text})
			}
			object := func(i string) store.Ref {
				key := "ns/pod"
				if c.scoped {
					key = "ns-" + i + "/pod-" + i
				}
				return objects.Version(f.arena, key+" rv=1 tier=web zone=z app-"+i+"=yes app=app-"+i+" nodeName=node-"+i)
			}
			values := func(e history.Event) (list []string) {
				for _, entry := range index.Find(&e) {
					list = append(list, entry.Value)
				}
				return list
			}
			a, b := object("7"), object("700")
			assert.Contains(t, values(history.Event{Current: a}), "7")
			assert.LessOrEqual(t, len(values(history.Event{Current: a})), 3)
			assert.Contains(t, values(history.Event{Previous: a}), "7", "a deletion is looked up by what it deletes")
			if c.scoped {
				return
			}
			both := values(history.Event{Current: b, Previous: a})
			assert.Contains(t, both, "7")
			assert.Contains(t, both, "700")
			assert.LessOrEqual(t, len(both), 6)
			assert.True(t, slices.IsSortedFunc(both, func(a, b string) int { return len(a) - len(b) }), "in the order they were added")
		})
	}
}
