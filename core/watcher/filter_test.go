package watcher_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/coretest/objects"
	"github.com/watchglass/watchglass/core/history"
	"github.com/watchglass/watchglass/core/store"
	"github.com/watchglass/watchglass/core/watcher"
)

func TestNewFilterRejectsInvalidRequests(t *testing.T) {
	schema := objects.Pods()
	nodes := api.Schema{Resource: api.Resource{Version: "v1", Name: "nodes"}, Fields: []string{"metadata.name"}}
	for _, c := range []struct {
		name              string
		schema            *api.Schema
		namespace, fields string
	}{
		{"a field that is not declared", &schema, "", "spec.hostname=x"},
		{"a namespace where there are none", &nodes, "default", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			filter, status := watcher.NewFilter(store.NewArena(), c.schema, c.namespace, objects.Select("", c.fields))
			assert.Nil(t, filter)
			require.NotNil(t, status)
			assert.Equal(t, 400, status.Code)
			assert.NotEmpty(t, status.Message)
		})
	}
}

func TestW30_FilterMatches(t *testing.T) {
	f := newFeed(t, 100)
	ref := objects.Version(f.arena, "default/a rv=1 app=web tier=front phase=Running nodeName=n1")
	for _, c := range []struct {
		namespace, labels, fields string
		want                      bool
	}{
		{"", "", "", true},
		{"default", "", "", true},
		{"def", "", "", false},
		{"default/a", "", "", false},
		{"other", "", "", false},
		{"", "app=web", "", true},
		{"", "app=web,tier!=front", "", false},
		{"", "", "status.phase=Running", true},
		{"", "", "status.phase!=Running", false},
		{"", "", "metadata.name=a,metadata.namespace=default", true},
		{"", "", "metadata.name=b", false},
		{"default", "app", "spec.nodeName=n1", true},
		{"default", "app", "spec.nodeName=n2", false},
		{"other", "app", "spec.nodeName=n1", false},
	} {
		filter := f.filter(c.namespace, c.labels, c.fields)
		assert.Equal(t, c.want, filter.Matches(ref), "%+v", c)
		assert.False(t, filter.Matches(0))
		assert.Equal(t, c.namespace+c.labels+c.fields == "", filter.Everything())
	}
}

// A filter with a shard rejects all objects of other shards.
func TestW30_FilterMatchesWithinAShard(t *testing.T) {
	f := newFeed(t, 100)
	shop, web := api.ShardOf("shop", 16), api.ShardOf("web", 16)
	require.NotEqual(t, shop, web)
	ref := objects.Version(f.arena, "shop/a rv=1 app=web")
	for _, c := range []struct {
		shard             api.Shard
		namespace, labels string
		want              bool
	}{
		{api.Shard{}, "", "", true},
		{shop, "", "", true},
		{shop, "shop", "app=web", true},
		{shop, "shop", "app=db", false},
		{shop, "web", "", false},
		{web, "", "", false},
		{web, "shop", "app=web", false},
	} {
		filter := f.filter(c.namespace, c.labels, "")
		filter.Within(c.shard)
		assert.Equal(t, c.want, filter.Matches(ref), "%+v", c)
		assert.Equal(t, c.shard.Whole() && c.namespace+c.labels == "", filter.Everything())
	}
}

// The result cached for a label set ID must not apply to a later set with the
// same ID.
func TestFilterInvalidatesFreedLabelSets(t *testing.T) {
	f := newFeed(t, 100)
	filter := f.filter("", "app=web", "")
	web := objects.Version(f.arena, "a app=web")
	id := f.arena.LabelSet(web)
	assert.True(t, filter.Matches(web))
	f.arena.Release(web)
	db := objects.Version(f.arena, "a app=db")
	require.Equal(t, id, f.arena.LabelSet(db))
	assert.False(t, filter.Matches(db))
}

// Convert handles the eight cases of a change under a selector (W27). A deletion
// carries the previous content at the version of the event (W28).
func TestW27_Convert(t *testing.T) {
	const in, out, none = "app=web", "app=db", ""
	for _, c := range []struct {
		name              string
		previous, current string
		want              string
	}{
		{"W27 creation outside", none, out, ""},
		{"W27 creation inside is ADDED", none, in, "ADDED default/a@2"},
		{"W27 update outside", out, out, ""},
		{"W27 update inside is MODIFIED", in, in, "MODIFIED default/a@2"},
		{"W27 update into it is ADDED", out, in, "ADDED default/a@2"},
		{"W28 update out of it is DELETED, with the content before", in, out, "DELETED default/a@2"},
		{"W28 deletion inside is DELETED", in, none, "DELETED default/a@2"},
		{"W27 deletion outside", out, none, ""},
		{"W29 deletion of what was not held", none, none, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFeed(t, 100)
			e := history.Event{ResourceVersion: 2}
			if c.previous != none {
				e.Previous = objects.Version(f.arena, "default/a rv=1 "+c.previous)
			}
			if c.current != none {
				e.Current = objects.Version(f.arena, "default/a rv=2 "+c.current)
			}
			w := f.watch(watcher.Options{Filter: f.filter("", "app=web", "")})
			require.True(t, w.TryAdd(&e))
			w.Run()
			d, ok := w.Take()
			require.Equal(t, c.want != "", ok)
			if ok {
				assert.Equal(t, c.want, objects.Delivery(f.arena, d))
				assert.Equal(t, "app=web", f.arena.LabelsOf(d.Content).String(), "delivered objects match")
			}
		})
	}
}

// The client receives ADDED when an object starts to match the selector, and DELETED when
// the object stops matching (T2).
func TestW26_FilteringSequences(t *testing.T) {
	for _, c := range []struct {
		name    string
		changes []string
		want    []string
	}{
		{"matches from the start", []string{
			"ns/a app=web", "ns/a app=web v=2", "ns/a app=db", "ns/a app=db v=2", "ns/a app=web", "-ns/a",
		}, []string{
			"ADDED ns/a@2", "MODIFIED ns/a@3", "DELETED ns/a@4", "ADDED ns/a@6", "DELETED ns/a@7",
		}},
		{"noise before the first match", []string{
			"ns/a app=db", "ns/a app=db v=2", "ns/a app=web", "ns/a app=db", "-ns/a", "ns/a app=web", "ns/b app=web",
		}, []string{
			"ADDED ns/a@4", "DELETED ns/a@5", "ADDED ns/a@7", "ADDED ns/b@8",
		}},
		{"another namespace never shows", []string{
			"other/a app=web", "-other/a", "nsx/a app=web", "ns/a app=web",
		}, []string{"ADDED ns/a@5"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFeed(t, 100)
			live := f.watch(watcher.Options{Filter: f.filter("ns", "app=web", "")})
			for _, change := range c.changes {
				require.True(t, live.TryAdd(f.do(change)))
			}
			assert.Equal(t, c.want, f.take(live))
			replayed := f.watch(watcher.Options{Filter: f.filter("ns", "app=web", ""), Initial: f.since(1)})
			assert.Equal(t, c.want, f.take(replayed), "W40: the same events from the history")
			f.assertNoLeak()
		})
	}
}
