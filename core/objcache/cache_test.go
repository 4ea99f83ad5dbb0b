package objcache

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
)

const minute = 60_000

// TestK2_K9_SecretCache ports the kubelet's TestSecretCache: a Secret is absent, created,
// changed and deleted.
func TestK2_K9_SecretCache(t *testing.T) {
	w := newWorld(t, Config{})
	id := secret("a")
	w.add(id, "pod")
	w.fails(id, `404 NotFound: secrets "default/a" not found`)
	w.put(id, "u1", false)
	w.spread()
	w.finds(id, 1)
	w.put(id, "u1", false)
	w.spread()
	w.finds(id, 2)
	w.delete(id)
	w.spread()
	w.fails(id, "not found")
	w.put(id, "u2", false)
	w.spread()
	w.finds(id, 4)
	require.Equal(t, 1, w.lists)
}

// TestK1_K3_MultipleRegistrations ports the kubelet's test of the same name. Many
// references share one list and watch, which ends with the last reference.
func TestK1_K3_MultipleRegistrations(t *testing.T) {
	w := newWorld(t, Config{})
	id := secret("a")
	for range 3 {
		w.add(id, "pod-1")
		w.add(id, "pod-2")
	}
	require.Equal(t, Counters{Items: 1, References: 6, Watches: 1}, w.cache.Inspect())
	for range 3 {
		require.True(t, w.cache.Remove(id, "pod-1"))
	}
	require.Equal(t, []Holder{{ID: id, Owner: "pod-2", Count: 3}}, plain(w.cache.Holders()))
	for range 3 {
		require.Zero(t, w.closed)
		require.True(t, w.cache.Remove(id, "pod-2"))
	}
	require.Equal(t, 1, w.lists)
	require.Equal(t, 1, w.closed)
	require.Equal(t, Counters{}, w.cache.Inspect())
}

func plain(holders []Holder) []Holder {
	for i := range holders {
		holders[i].Taken = nil
	}
	return holders
}

// TestK3_RefMapHandlesReferencesCorrectly runs the kubelet's table of cases. One case
// differs: releasing a reference that is not held has no effect.
func TestK3_RefMapHandlesReferencesCorrectly(t *testing.T) {
	type step struct {
		add   string
		drop  string
		held  int  // references after the step
		known bool // whether the reference to drop exists
	}
	for name, steps := range map[string][]step{
		"add and delete":          {{add: "a", held: 1}, {drop: "a", known: true}},
		"two owners":              {{add: "a", held: 1}, {add: "b", held: 2}, {drop: "a", held: 1, known: true}, {drop: "b", known: true}},
		"counts":                  {{add: "a", held: 1}, {add: "a", held: 2}, {drop: "a", held: 1, known: true}, {drop: "a", known: true}},
		"unknown item":            {{drop: "a"}},
		"unknown owner":           {{add: "a", held: 1}, {drop: "b", held: 1}, {drop: "a", known: true}},
		"unknown owner, then it":  {{add: "a", held: 1}, {drop: "b", held: 1}, {add: "b", held: 2}, {drop: "a", held: 1, known: true}, {drop: "b", known: true}},
		"more often than taken":   {{add: "a", held: 1}, {add: "b", held: 2}, {drop: "a", held: 1, known: true}, {drop: "a", held: 1}, {drop: "b", known: true}},
		"the empty owner is one":  {{add: "", held: 1}, {drop: "a", held: 1}, {drop: "", known: true}},
		"in whatever order it is": {{add: "b", held: 1}, {add: "a", held: 2}, {add: "c", held: 3}, {drop: "b", held: 2, known: true}, {drop: "c", held: 1, known: true}, {drop: "a", known: true}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, Config{})
			id := secret("a")
			ignored := 0
			for i, s := range steps {
				if s.held > 0 && s.drop == "" {
					w.add(id, s.add)
				} else {
					require.Equal(t, s.known, w.cache.Remove(id, s.drop), "step %d", i)
					if !s.known {
						ignored++
					}
				}
				require.Equal(t, s.held, w.cache.Inspect().References, "step %d", i)
			}
			require.Equal(t, Counters{Ignored: ignored}, w.cache.Inspect())
			require.Empty(t, w.own)
		})
	}
}

func TestK4_AddedAgainIsAFreshItem(t *testing.T) {
	for name, immutable := range map[string]bool{"immutable": true, "mutable": false} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, Config{})
			id := secret("a")
			w.put(id, "u", immutable)
			w.add(id, "pod")
			w.finds(id, 1)

			w.cache.Remove(id, "pod")
			require.Zero(t, w.cache.Inspect().Items, "the item is removed")
			_, known := w.cache.Look(id)
			require.False(t, known)
			w.fails(id, "not registered")

			w.delete(id)
			w.slow = true
			w.add(id, "another pod")
			require.Equal(t, 2, w.lists, "it begins with a list")
			require.Equal(t, 1, w.cache.Inspect().References)
			waiting := w.get(id)
			require.False(t, waiting.came, "the previous item's object is not served")
			w.slow = false
			w.spread()
			require.ErrorContains(t, waiting.status, "not found")
		})
	}
}

func TestK5_NotRegisteredIsNotNotFound(t *testing.T) {
	w := newWorld(t, Config{})
	w.put(secret("a"), "u", false)
	for id, want := range map[ID]string{
		secret("a"):           `object "default"/"a" not registered`,
		{"v1/nodes", "n1"}:    `object ""/"n1" not registered`,
		{"", "strange/key/x"}: `object "strange"/"key/x" not registered`,
	} {
		a := w.get(id)
		require.Equal(t, want, a.status.Message)
		require.NotErrorIs(t, a.status, api.NotFound(""))
	}
	w.slow = true
	w.add(secret("a"), "pod")
	waiting := w.get(secret("a"))
	w.cache.Remove(secret("a"), "pod")
	require.ErrorContains(t, waiting.status, "not registered")
}

func TestK6_EveryGetCountsAsARead(t *testing.T) {
	w := newWorld(t, Config{MaxIdleMillis: minute})
	id := secret("none")
	w.add(id, "pod")
	for range 10 {
		w.tick(50_000)
		w.fails(id, "not found")
	}
	require.Equal(t, 1, w.lists)
	require.Len(t, w.own, 1)
}

// TestK7_K12_MaxIdleTimeStopsTheReflector ports the kubelet's test of the same name.
func TestK7_K12_MaxIdleTimeStopsTheReflector(t *testing.T) {
	w := newWorld(t, Config{MaxIdleMillis: 2 * minute})
	id := secret("a")
	w.put(id, "u", false)
	w.add(id, "pod")
	w.finds(id, 1)
	w.tick(2 * minute)
	require.Len(t, w.own, 1, "read two minutes ago and no longer")
	w.tick(minute)
	require.Empty(t, w.own)
	require.Zero(t, w.cache.NextTick(), "no work is due")

	w.put(id, "u", false)
	w.finds(id, 2)
	require.Equal(t, 2, w.lists)
	w.tick(3 * minute)
	require.Empty(t, w.own, "idle again")
}

func TestK7_RestartDoesNotDecreaseTheVersion(t *testing.T) {
	w := newWorld(t, Config{MaxIdleMillis: minute})
	id := secret("a")
	w.rv = 9
	w.put(id, "u", false)
	w.add(id, "pod")
	w.finds(id, 10)
	w.tick(3 * minute)
	require.Empty(t, w.own)
	w.slow = true
	a := w.get(id)
	w.own[0].loaded, w.own[0].objects = true, state{id.Key: {rv: 7}}
	w.own[0].version = Version{ResourceVersion: 9} // a replica that lags
	w.cache.Settle()
	require.False(t, a.came)
	w.spread()
	require.Equal(t, api.ResourceVersion(10), a.object.ResourceVersion)
}

func TestK7_AnotherHistoryIsNotBackInTime(t *testing.T) {
	w := newWorld(t, Config{MaxIdleMillis: minute})
	id := secret("a")
	w.rv = 9
	w.put(id, "u", false)
	w.add(id, "pod")
	w.finds(id, 10)
	s := w.own[0]
	s.version, s.objects = Version{ClusterID: "restored", ResourceVersion: 3}, state{id.Key: {rv: 3}}
	w.cache.Settle()
	w.finds(id, 3)
}

func TestK8_AGetWaitsForASecond(t *testing.T) {
	w := newWorld(t, Config{})
	id := secret("a")
	w.put(id, "u", false)
	w.slow = true
	w.add(id, "pod")
	late, early := w.get(id), w.get(id)
	w.tick(999)
	require.False(t, late.came)
	w.own[0].why = api.Unavailable("connection refused")
	w.tick(1)
	require.Equal(t, 504, late.status.Code)
	require.Equal(t, "failed to sync secrets cache: timed out waiting for the condition; "+
		"the last status was 503 ServiceUnavailable: connection refused", late.status.Message)
	require.True(t, early.came)
	again := w.get(id)
	w.tick(500)
	w.spread()
	require.Equal(t, api.ResourceVersion(1), again.object.ResourceVersion)
	require.Zero(t, w.cache.Inspect().Waiting)
}

func TestK8_RefusalEndsTheWait(t *testing.T) {
	for _, state := range []api.State{api.StateConnecting, api.StateForbidden, api.StateClosed} {
		why := api.Forbidden("secrets is forbidden")
		if state == api.StateConnecting {
			why = api.NotFound("there is no resource v1/secrets")
		}
		w := newWorld(t, Config{})
		id := secret("a")
		w.slow = true
		w.add(id, "pod")
		before := w.get(id)
		w.own[0].state, w.own[0].why = state, why
		w.cache.Settle()
		require.ErrorContains(t, before.status, why.Message)
		if state != api.StateClosed {
			w.fails(id, why.Message)
			continue
		}
		w.slow = false
		w.fails(id, "not found")
		require.Equal(t, 2, w.lists, "a permanent failure is retried for a new item")
	}
}

func TestK9_UnreadableObjectIsNotNotFound(t *testing.T) {
	w := newWorld(t, Config{})
	id := secret("a")
	w.add(id, "pod")
	w.own[0].fault = api.TooLarge("the object has 9 MiB")
	w.fails(id, "9 MiB")
	look, _ := w.cache.Look(id)
	require.False(t, look.Known)
	require.ErrorContains(t, look.Status, "9 MiB")
	w.put(id, "u", false)
	w.spread()
	w.finds(id, 1) // the object stays, although the version is older
}

// TestK12_NotStoppedOnSlowInitialization ports the kubelet's
// TestReflectorNotStoppedOnSlowInitialization.
func TestK12_NotStoppedOnSlowInitialization(t *testing.T) {
	w := newWorld(t, Config{MaxIdleMillis: minute})
	id := secret("a")
	w.slow = true
	w.add(id, "pod")
	w.get(id)
	w.tick(10 * minute)
	require.Len(t, w.own, 1)
	w.spread()
	w.tick(minute)
	require.Len(t, w.own, 1, "idle since it was loaded")
	w.tick(2 * minute)
	require.Empty(t, w.own)
}

// An object that was never read becomes idle MaxIdleMillis after it was loaded. In the
// kubelet, the next sweep removes that object.
func TestK12_NeverReadIsIdleSinceItWasLoaded(t *testing.T) {
	w := newWorld(t, Config{})
	w.add(secret("a"), "pod")
	w.tick(5 * minute)
	require.Len(t, w.own, 1)
	w.tick(2 * minute)
	require.Empty(t, w.own)
}

func TestK12_MaxIdleIsAMinuteAtLeast(t *testing.T) {
	w := newWorld(t, Config{MaxIdleMillis: 1})
	w.add(secret("a"), "pod")
	w.tick(minute)
	require.Len(t, w.own, 1)
	w.tick(minute)
	require.Empty(t, w.own)
}

func TestK12_FollowedItemIsNeverIdle(t *testing.T) {
	w := newWorld(t, Config{})
	id := secret("a")
	w.put(id, "u", true)
	w.add(id, "page")
	w.cache.Follow(id)
	w.finds(id, 1)
	w.tick(60 * minute)
	require.Len(t, w.own, 1, "an immutable object is not copied")
	w.delete(id)
	w.spread()
	look, ok := w.cache.Look(id)
	require.True(t, ok && look.Known && look.Object == nil)
	w.cache.Unfollow(id)
	w.tick(5 * minute)
	require.Len(t, w.own, 1, "it was read recently")
	w.tick(2 * minute)
	require.Empty(t, w.own)
}

func TestK13_Shutdown(t *testing.T) {
	w := newWorld(t, Config{})
	kept, other := secret("kept"), secret("other")
	w.put(kept, "u", true)
	w.put(other, "u", false)
	w.add(kept, "pod")
	w.add(other, "pod")
	w.finds(kept, 1)
	w.cache.Shutdown()
	require.Empty(t, w.own)
	w.add(secret("late"), "pod")
	require.Empty(t, w.own, "no watch is started")
	w.finds(kept, 1)
	a := w.get(other)
	w.tick(1000)
	require.ErrorContains(t, a.status, "failed to sync secrets cache")
}

func TestK16_Keys(t *testing.T) {
	w := newWorld(t, Config{})
	for _, id := range []ID{{"v1/nodes", "n1"}, {"v1/secrets", "default/a"}, {"apps/v1/deployments", "a/b"}} {
		require.Nil(t, w.cache.Add(id, "o"), "%v", id)
	}
	for _, id := range []ID{{"nodes", "n1"}, {"v1/nodes", ""}, {"v1/nodes", "/a"}, {"v1/nodes", "a/"}, {"v1/nodes", "a/b/c"}} {
		status := w.cache.Add(id, "o")
		require.NotNil(t, status, "%v", id)
		require.Equal(t, 400, status.Code, "%v", id)
	}
	require.Equal(t, 3, w.cache.Inspect().Items)
}
