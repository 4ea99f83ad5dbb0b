package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/wire"
)

func TestListAndGet(t *testing.T) {
	w := newWorld(t)
	for i := range 5 {
		w.put(api.NewKey("shop", fmt.Sprintf("p-%d", i)), "Running")
	}
	rv := w.put("other/x", "Pending")
	c := w.collection()

	require.Equal(t, api.StateLive, c.Status().State)
	require.EqualValues(t, 6, c.Status().Objects)
	require.Equal(t, "Pod", c.Schema().Kind)

	page, err := c.List(w.ctx, ListOptions{Namespace: "shop", Limit: 3})
	require.NoError(t, err)
	require.Len(t, page.Items, 3)
	require.Equal(t, rv, page.ResourceVersion)
	require.EqualValues(t, 2, page.Remaining)
	page, err = c.List(w.ctx, ListOptions{Namespace: "shop", Limit: 3, Continue: page.Continue})
	require.NoError(t, err)
	require.Len(t, page.Items, 2)
	require.Empty(t, page.Continue)
	require.Equal(t, api.Key("shop/p-4"), page.Items[1].Key())
	page, err = c.List(w.ctx, ListOptions{LabelSelector: "phase!=Running"})
	require.NoError(t, err)
	require.Len(t, page.Items, 1)

	pod, err := c.Get(w.ctx, "other/x")
	require.NoError(t, err)
	require.Equal(t, "uid-x", pod.UID())
	require.Equal(t, rv, pod.ResourceVersion())
	require.Equal(t, "app=web,phase=Pending", pod.Labels().String())
	schema := c.Schema()
	require.Equal(t, "Pending", pod.Column(schema.Column("Status")).Text)
	require.Equal(t, "n1", pod.Field(schema.Field("spec.nodeName")))
	var object struct {
		Metadata struct{ Name, ResourceVersion string }
	}
	require.NoError(t, json.Unmarshal(pod.JSON(), &object))
	require.Equal(t, "x", object.Metadata.Name)
	require.Equal(t, rv.String(), object.Metadata.ResourceVersion)

	_, err = c.Get(w.ctx, "shop/none")
	require.ErrorIs(t, err, api.NotFound(""))
	_, err = c.List(w.ctx, ListOptions{LabelSelector: "a in ("})
	require.ErrorIs(t, err, api.BadRequest(""))
	_, err = c.List(w.ctx, ListOptions{ResourceVersionMatch: "Newest"})
	require.ErrorContains(t, err, `resourceVersionMatch "Newest"`)
}

func TestMetadataOnlyHasNoJSON(t *testing.T) {
	w := newWorld(t)
	w.put("shop/a", "Running")
	c, err := w.client.Collection(w.ctx, "v1/pods", CollectionOptions{MetadataOnly: true})
	require.NoError(t, err)
	require.NoError(t, c.WaitForSync(w.ctx))
	list, err := c.List(w.ctx, ListOptions{})
	require.NoError(t, err)
	require.Len(t, list.Items, 1)
	require.Nil(t, list.Items[0].JSON())
}

func TestUnknownResourceIsRefused(t *testing.T) {
	w := newWorld(t)
	c, err := w.client.Collection(w.ctx, "v1/gadgets", CollectionOptions{})
	if err == nil {
		err = c.WaitForSync(w.ctx)
	}
	require.ErrorIs(t, err, api.NotFound(""))
	require.ErrorContains(t, err, "v1/gadgets")

	_, err = w.client.Collection(w.ctx, "pods", CollectionOptions{})
	require.ErrorIs(t, err, api.BadRequest(""))
}

func TestWatchFollowsChanges(t *testing.T) {
	w := newWorld(t)
	first := w.put("shop/a", "Pending")
	c := w.collection()
	watch, err := c.Watch(w.ctx, WatchOptions{ResourceVersion: first.String(), LabelSelector: "phase=Running", Previous: true})
	require.NoError(t, err)

	second := w.put("shop/a", "Running")
	require.Equal(t, fmt.Sprintf("ADDED shop/a %s", second), w.next(watch), "it begins to match")
	third := w.put("shop/a", "Running")
	event, err := watch.Next(w.ctx)
	require.NoError(t, err)
	require.Equal(t, fmt.Sprintf("MODIFIED shop/a %s", third), describe(event))
	require.Contains(t, string(event.Object.JSON()), `"resourceVersion":"`+third.String()+`"`)
	require.Contains(t, string(event.Previous.JSON()), `"resourceVersion":"`+second.String()+`"`)
	fourth := w.source.Delete(pods, "shop/a")
	require.Equal(t, fmt.Sprintf("DELETED shop/a %s", fourth), w.next(watch))

	require.NoError(t, watch.Close())
	_, err = watch.Next(w.ctx)
	require.ErrorIs(t, err, ErrClosed)
	require.NoError(t, watch.Close(), "twice is fine")
}

func TestWatchStreamsInitialEventsAndBookmark(t *testing.T) {
	w := newWorld(t)
	w.put("shop/a", "Running")
	rv := w.put("shop/b", "Running")
	c := w.collection()
	yes := true
	watch, err := c.Watch(w.ctx, WatchOptions{
		SendInitialEvents: &yes, AllowWatchBookmarks: true, ResourceVersionMatch: NotOlderThan,
	})
	require.NoError(t, err)
	var got []string
	for event, err := range watch.Events(w.ctx) {
		require.NoError(t, err)
		got = append(got, describe(event))
		if event.InitialEventsEnd {
			break
		}
	}
	require.Equal(t, []string{"ADDED shop/a 2", "ADDED shop/b 3", fmt.Sprintf("BOOKMARK %s end=true", rv)}, got)
}

func TestWatchRefusedAndExpired(t *testing.T) {
	w := newWorld(t)
	w.put("shop/a", "Running")
	c := w.collection()
	_, err := c.Watch(w.ctx, WatchOptions{ResourceVersion: "one"})
	require.ErrorIs(t, err, api.BadRequest(""))
	_, err = c.Watch(w.ctx, WatchOptions{FieldSelector: "spec.nothing=1"})
	require.ErrorIs(t, err, api.BadRequest(""))

	watch, err := c.Watch(w.ctx, WatchOptions{ResourceVersion: "1"})
	require.NoError(t, err)
	for range 2 {
		_, err = watch.Next(w.ctx)
		require.ErrorIs(t, err, api.Expired(""))
		requireEnd(t, watch, api.WatchEndRefused)
	}
}

func TestBufferIsGrantedAgain(t *testing.T) {
	w := newWorld(t)
	c := w.collection()
	watch, err := c.Watch(w.ctx, WatchOptions{ResourceVersion: c.Status().ResourceVersion.String(), Buffer: 3})
	require.NoError(t, err)
	for i := range 50 {
		key := api.NewKey("shop", fmt.Sprintf("p-%02d", i))
		rv := w.put(key, "Running")
		require.Equal(t, fmt.Sprintf("ADDED %s %s", key, rv), w.next(watch))
	}
}

func TestSlowWatchConvergesWhereItConflates(t *testing.T) {
	w := newWorld(t)
	c := w.collection()
	start := c.Status().ResourceVersion.String()
	watch, err := c.Watch(w.ctx, WatchOptions{ResourceVersion: start, Buffer: 2, Policy: Conflate})
	require.NoError(t, err)
	last := api.ResourceVersion(0)
	for i := range 300 {
		last = w.put(api.NewKey("shop", fmt.Sprintf("p-%d", i%10)), "Running")
	}
	w.reach(c, func(s Status) bool { return s.ResourceVersion == last })
	watch.mu.Lock()
	require.LessOrEqual(t, len(watch.queue), 2)
	watch.mu.Unlock()
	events := 1
	for e := w.next(watch); e != fmt.Sprintf("MODIFIED shop/p-9 %s", last) && events < 300; e = w.next(watch) {
		events++
	}
	require.Less(t, events, 100, "a few per object, for 300 changes")
}

func TestEventsEndWithTheContext(t *testing.T) {
	w := newWorld(t)
	c := w.collection()
	watch, err := c.Watch(w.ctx, WatchOptions{ResourceVersion: c.Status().ResourceVersion.String()})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(w.ctx)
	cancel()
	var last error
	for _, err := range watch.Events(ctx) {
		last = err
	}
	require.ErrorIs(t, last, context.Canceled)
}

func TestViewShowsItsWindow(t *testing.T) {
	w := newWorld(t)
	for i := range 5 {
		w.put(api.NewKey("shop", fmt.Sprintf("p-%d", i)), "Running")
	}
	c := w.collection()
	view, err := c.View(w.ctx, ViewOptions{Sort: "-name", Limit: 2, Facets: []string{"status.phase"}, GroupBy: []string{"namespace", "status.phase"}, Aggregates: []string{"name"}})
	require.NoError(t, err)
	_, err = c.View(w.ctx, ViewOptions{GroupBy: []string{"a", "b", "c"}})
	require.ErrorContains(t, err, "at most two names")
	until := func(want string) *Snapshot {
		t.Helper()
		for snapshot, err := range view.Snapshots(w.ctx) {
			require.NoError(t, err)
			if got := rows(snapshot); got == want {
				return snapshot
			}
		}
		return nil
	}
	snapshot := until("p-4 p-3 of 5")
	require.Equal(t, []Count{{"Running", 5}}, snapshot.Facets[0].Values)

	w.put("shop/p-9", "Pending")
	snapshot = until("p-9 p-4 of 6")
	require.Equal(t, []Count{{"Pending", 1}, {"Running", 5}}, snapshot.Facets[0].Values)
	none := []wire.Aggregate{{}}
	require.Equal(t, Groups{Values: []Group{{[]string{"shop", "Pending"}, 1, none}, {[]string{"shop", "Running"}, 5, none}}}, snapshot.Groups)

	require.NoError(t, view.Move(w.ctx, 1, 3))
	until("p-4 p-3 p-2 of 6")
	w.source.Delete(pods, "shop/p-4")
	until("p-3 p-2 p-1 of 5")

	require.NoError(t, view.Close())
	require.Equal(t, "p-3 p-2 p-1 of 5", rows(view.Snapshot()), "the last one stays")
	for _, err := range view.Snapshots(w.ctx) {
		if err != nil {
			require.ErrorIs(t, err, ErrClosed)
		}
	}
	require.ErrorIs(t, view.Move(w.ctx, 0, 1), ErrClosed)
	_, err = c.View(w.ctx, ViewOptions{Sort: "nothing"})
	require.ErrorIs(t, err, api.BadRequest(""))
}

// The window of a view stays at its anchor while rows are inserted above it and the
// engine is replaced. Only Move and MoveTo move the window elsewhere.
func TestViewStaysAtItsAnchor(t *testing.T) {
	w := newWorld(t)
	for i := 10; i < 20; i++ {
		w.put(api.NewKey("shop", fmt.Sprintf("p-%d", i)), "Running")
	}
	view, err := w.collection().View(w.ctx, ViewOptions{Anchor: "shop/p-15", Before: 1, Limit: 2})
	require.NoError(t, err)
	until := func(want string, offset uint32) {
		t.Helper()
		for snapshot, err := range view.Snapshots(w.ctx) {
			require.NoError(t, err)
			if rows(snapshot) == want {
				require.Equal(t, offset, snapshot.Offset)
				return
			}
		}
	}
	until("p-14 p-15 of 10", 4)
	for i := range 5 {
		w.put(api.NewKey("shop", fmt.Sprintf("o-%d", i)), "Running")
	}
	until("p-14 p-15 of 15", 9)
	w.source.Delete(pods, "shop/p-15")
	until("p-14 p-16 of 14", 9)

	require.NoError(t, view.MoveTo(w.ctx, "shop/p-18", 0, 3))
	until("p-18 p-19 of 14", 12)
	w.poison()
	w.put("shop/p-17a", "Running")
	until("p-18 p-19 of 15", 13)
	require.NoError(t, view.MoveTo(w.ctx, "shop/absent", 0, 1))
	until("p-18 of 15", 13)
	w.poison()
	w.put("shop/p-17b", "Running")
	until("p-17b of 16", 13)

	require.NoError(t, view.Move(w.ctx, 0, 1))
	until("o-0 of 16", 0)
	w.source.Delete(pods, "shop/o-0")
	until("o-1 of 15", 0)
}

func TestViewReturnsAllObjectsOfOneVersion(t *testing.T) {
	w := newWorld(t)
	for i := range 12 {
		w.put(api.NewKey("shop", fmt.Sprintf("p-%d", i)), "Running")
	}
	rv := w.put("shop/p-3", "Failed")
	bodies := w.collection()
	rows, err := w.client.Collection(w.ctx, "v1/pods", CollectionOptions{MetadataOnly: true})
	require.NoError(t, err)
	require.NoError(t, rows.WaitForSync(w.ctx))
	for _, c := range []*Collection{bodies, rows} {
		view, err := c.View(w.ctx, ViewOptions{Where: "status.phase = Running", Sort: "-name", Limit: 2})
		require.NoError(t, err)
		list, err := view.All(w.ctx)
		require.NoError(t, err)
		require.Equal(t, rv, list.ResourceVersion)
		require.Len(t, list.Items, 11)
		require.Equal(t, "p-11", list.Items[0].Key().Name())
		require.Equal(t, "p-0", list.Items[10].Key().Name())
		require.Equal(t, c == bodies, len(list.Items[0].JSON()) > 0)
		require.NoError(t, view.Close())
		_, err = view.All(w.ctx)
		require.ErrorIs(t, err, ErrClosed)
	}
	view, err := bodies.View(w.ctx, ViewOptions{Search: "nothing"})
	require.NoError(t, err)
	list, err := view.All(w.ctx)
	require.NoError(t, err)
	require.Empty(t, list.Items)
}

func rows(s *Snapshot) string {
	text := ""
	for _, row := range s.Rows {
		text += row.Key().Name() + " "
	}
	return fmt.Sprintf("%sof %d", text, s.Total)
}

func TestConnectionThatIsLostIsResumed(t *testing.T) {
	w := newWorld(t)
	rv := w.put("shop/a", "Running")
	c := w.collection()
	watch, err := c.Watch(w.ctx, WatchOptions{ResourceVersion: rv.String()})
	require.NoError(t, err)

	w.cut(true)
	w.reach(c, func(s Status) bool { return s.State == api.StateReconnecting })
	list, err := c.List(w.ctx, ListOptions{})
	require.NoError(t, err)
	require.Len(t, list.Items, 1, "what was there stays readable")
	rv = w.put("shop/b", "Running")
	w.cut(false)
	require.NoError(t, w.client.Reconnect(w.ctx))
	require.Equal(t, fmt.Sprintf("ADDED shop/b %s", rv), w.next(watch))
	w.reach(c, synced)
}

func TestPoisonedEngineIsReplaced(t *testing.T) {
	w := newWorld(t)
	rv := w.put("shop/a", "Running")
	c := w.collection()
	used, err := c.Watch(w.ctx, WatchOptions{})
	require.NoError(t, err)
	require.Equal(t, fmt.Sprintf("ADDED shop/a %s", rv), w.next(used))
	fresh, err := c.Watch(w.ctx, WatchOptions{ResourceVersion: rv.String()})
	require.NoError(t, err)
	view, err := c.View(w.ctx, ViewOptions{})
	require.NoError(t, err)
	w.reach(c, synced)

	for range 2 {
		w.poison()
		status := w.reach(c, func(s Status) bool { return s.State != api.StateLive })
		if status.State == api.StateReconnecting && errors.Is(status.Err, ErrPoisoned) {
			require.ErrorContains(t, status.Err, "panic in wg_step")
		}
		require.NoError(t, c.WaitForSync(w.ctx))
	}

	_, err = used.Next(w.ctx)
	require.EqualError(t, err, "410 Expired: the cache failed and lost its history: list and watch again")
	requireEnd(t, used, api.WatchEndEngineReplaced)

	rv = w.put("shop/b", "Running")
	require.Equal(t, fmt.Sprintf("ADDED shop/b %s", rv), w.next(fresh))
	for snapshot, err := range view.Snapshots(w.ctx) {
		require.NoError(t, err)
		if snapshot.Total == 2 {
			break
		}
	}
	pod, err := c.Get(w.ctx, "shop/b")
	require.NoError(t, err)
	require.Equal(t, rv, pod.ResourceVersion())
}

func TestCloseEndsEverything(t *testing.T) {
	w := newWorld(t)
	c := w.collection()
	watch, err := c.Watch(w.ctx, WatchOptions{})
	require.NoError(t, err)
	view, err := c.View(w.ctx, ViewOptions{})
	require.NoError(t, err)

	require.NoError(t, c.Close())
	_, err = watch.Next(w.ctx)
	require.ErrorIs(t, err, ErrClosed)
	require.Equal(t, api.StateClosed, c.Status().State)
	_, err = c.Watch(w.ctx, WatchOptions{})
	require.ErrorIs(t, err, ErrClosed)

	other := w.collection()
	require.NoError(t, w.client.Close())
	require.NoError(t, w.client.Close(), "twice is fine")
	require.ErrorIs(t, other.WaitForSync(w.ctx), ErrClosed)
	_, err = other.Get(w.ctx, "a/b")
	require.ErrorIs(t, err, ErrClosed)
	_, err = w.client.Collection(w.ctx, "v1/pods", CollectionOptions{})
	require.ErrorIs(t, err, ErrClosed)
	require.NoError(t, other.Close())
	require.NoError(t, view.Close())
}

func TestWaitReportsTheAwaitedVersion(t *testing.T) {
	w := newWorld(t)
	w.cut(true)
	c, err := w.client.Collection(w.ctx, "v1/pods", CollectionOptions{})
	require.NoError(t, err)
	w.reach(c, func(s Status) bool { return s.Err != nil })
	ctx, cancel := context.WithCancel(w.ctx)
	cancel()
	err = c.WaitForSync(ctx)
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorContains(t, err, "network is down")
}

func TestInspectNamesNumbers(t *testing.T) {
	w := newWorld(t)
	w.put("shop/a", "Running")
	w.collection()
	numbers, err := w.client.Inspect(w.ctx)
	require.NoError(t, err)
	require.NotEmpty(t, numbers)
}

func TestConfigIsChecked(t *testing.T) {
	for url, want := range map[string]string{
		"":                       "no connector URL given",
		"localhost:8080":         "scheme must be ws, wss, http or https",
		"ws://me:secret@host/wg": "contains credentials",
		"ws://bad\x7f":           "connector URL",

		"ws://me:secret%zz@host/wg":  `"ws://xxxxx@host/wg" contains credentials`,
		"ws://me:1/secret@host/wg":   `"ws://xxxxx@host/wg" contains credentials`,
		"me:secret@host/wg":          `"xxxxx@host/wg" contains credentials`,
		"ws://me:sec/secret@host/wg": `"ws://xxxxx@host/wg" contains credentials`,
	} {
		_, err := Open(context.Background(), Config{URL: url})
		require.ErrorContains(t, err, want, url)
		require.NotContains(t, err.Error(), "secret")
	}
}
