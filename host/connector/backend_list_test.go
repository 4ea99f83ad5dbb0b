package connector_test

import (
	"fmt"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/coretest/objects"
	"github.com/watchglass/watchglass/core/history"
	"github.com/watchglass/watchglass/host/connector"
	"github.com/watchglass/watchglass/host/kubeapi"
)

// reading is a list that the test reads object by object.
type reading struct {
	*kubeapi.List
	next func() (kubeapi.Object, error, bool)
	stop func()
}

func (w *world) list(o kubeapi.ListOptions) *reading {
	w.t.Helper()
	list, err := w.connector.Backend().List(w.t.Context(), pods, o)
	require.NoError(w.t, err)
	r := &reading{List: list}
	r.next, r.stop = iter.Pull2(list.Items)
	return r
}

// rest reads the remaining objects.
func (r *reading) rest() (objects []string, err error) {
	defer r.stop()
	for {
		o, err, ok := r.next()
		if err != nil || !ok {
			return objects, err
		}
		objects = append(objects, describe(o))
	}
}

func describe(o kubeapi.Object) string { return fmt.Sprintf("%s %s", o.Key(), o.JSON()) }

// A list whose client does not read uses the same memory for any number of objects.
func TestMemoryOfAnUnreadListIsBounded(t *testing.T) {
	const lists, bound = 30, 100 << 10
	for _, objects := range []int{1000, 10_000} {
		run(t, connector.Config{}, func(t *testing.T, w *world) {
			w.fill(objects)
			for range lists {
				r := w.list(kubeapi.ListOptions{})
				defer r.stop()
				_, err, ok := r.next()
				require.True(t, ok)
				require.NoError(t, err)
			}
			held := w.connector.Stats().ListBytes
			assert.Positive(t, held)
			assert.LessOrEqual(t, held, lists*bound, "%d objects", objects)
		})
	}
}

func TestFinishedListReleasesItsMemory(t *testing.T) {
	run(t, connector.Config{}, func(t *testing.T, w *world) {
		w.fill(2000)
		read, left := w.list(kubeapi.ListOptions{}), w.list(kubeapi.ListOptions{})
		left.next()
		assert.Positive(t, w.connector.Stats().ListBytes)
		left.stop()
		listed, err := read.rest()
		require.NoError(t, err)
		assert.Len(t, listed, 2000)
		assert.Zero(t, w.connector.Stats().ListBytes)
	})
}

// A list returns the objects as of its resource version, even if the objects change while
// the client reads.
func TestSlowlyReadListHasOneVersion(t *testing.T) {
	const n = 2000
	for name, o := range map[string]kubeapi.ListOptions{
		"all":        {},
		"namespace":  {Namespace: "default"},
		"selector":   {Selection: objects.Select("app=web", "")},
		"limit":      {Limit: 1500},
		"page":       {Limit: 1500, Namespace: "default", Selection: objects.Select("", "spec.nodeName=node-1")},
		"any":        {ResourceVersion: "0"},
		"not older":  {ResourceVersion: "7", Match: api.MatchNotOlderThan},
		"not newest": {ResourceVersion: "1990", Match: api.MatchExact},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, connector.Config{}, func(t *testing.T, w *world) {
				release, err := w.connector.Hold(t.Context(), pods)
				require.NoError(t, err)
				defer release()
				w.fill(n)
				synctest.Wait()
				atOnce, slowly := w.list(o), w.list(o)
				want, err := atOnce.rest()
				require.NoError(t, err)
				require.Greater(t, len(want), 1000)

				var got []string
				for i := range len(want) {
					o, err, ok := slowly.next()
					require.NoError(t, err)
					require.True(t, ok)
					got = append(got, describe(o))
					if i%100 == 99 {
						w.churn(i/100, n)
						synctest.Wait()
					}
				}
				_, _, more := slowly.next()
				assert.False(t, more)
				assert.Equal(t, want, got)
				assert.Equal(t, atOnce.ResourceVersion, slowly.ResourceVersion)
				assert.Equal(t, atOnce.Continue, slowly.Continue)
				assert.Equal(t, atOnce.Remaining, slowly.Remaining)
			})
		})
	}
}

// churn changes, deletes, creates and replaces objects in all parts of a list of the given
// length. Successive rounds choose different objects.
func (w *world) churn(round, objects int) {
	for i := round % 3; i < objects; i += 97 {
		name := fmt.Sprintf("pod-%05d", i)
		switch i % 4 {
		case 0:
			w.source.Put(pods, key(name), pod(name, "Failed"))
		case 1:
			w.source.Delete(pods, key(name))
		case 2:
			w.put(name + "-new")
		case 3:
			w.source.Delete(pods, key(name))
			w.source.Put(pods, key(name), pod(name, "Pending"))
		}
	}
}

// If the history no longer contains the version of a list, the list ends with an error.
// The list never continues with objects of another version.
func TestListBeyondTheHistoryEndsWithAnError(t *testing.T) {
	causes := map[string]func(w *world){
		"history": func(w *world) {
			for range 20 {
				w.put("pod-01999")
			}
		},
		"relisted": func(w *world) { w.source.Fail(api.Expired("compacted")) },
	}
	for name, f := range causes {
		t.Run(name, func(t *testing.T) {
			run(t, connector.Config{History: history.Limits{MinCapacity: 10, MaxCapacity: 10}}, func(t *testing.T, w *world) {
				w.fill(2000)
				r := w.list(kubeapi.ListOptions{})
				_, err, _ := r.next()
				require.NoError(t, err)
				f(w)
				time.Sleep(time.Minute) // virtual time in which the connector retries the source
				objects, err := r.rest()
				assert.Less(t, len(objects), 1999)
				require.ErrorIs(t, err, api.Expired(""))
				assert.Zero(t, w.connector.Stats().ListBytes)
			})
		})
	}
}
