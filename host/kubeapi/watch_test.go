package kubeapi_test

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/host/kubeapi"
	"github.com/watchglass/watchglass/host/limit"
	hostmetrics "github.com/watchglass/watchglass/host/metrics"
)

const initialEvents = "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"

func TestP1_HeadersLeaveBeforeAnyEvent(t *testing.T) {
	run(t, kubeapi.Config{}, func(t *testing.T, w *world) {
		rv := w.put("a/one", "web")
		watch := w.watch("/api/v1/pods?watch=1&resourceVersion=" + rv.String())
		defer watch.close()
		assert.Equal(t, []string{"chunked"}, watch.response.TransferEncoding)
		assert.Equal(t, "application/json", watch.response.Header.Get("Content-Type"))
		assert.Equal(t, "MODIFIED one 3", func() string { w.put("a/one", "api"); return watch.formatNext() }())
	})
}

func TestP1_WatchOnAnObjectReceivesOnlyThatObject(t *testing.T) {
	run(t, kubeapi.Config{}, func(t *testing.T, w *world) {
		w.put("a/one", "web")
		w.put("a/two", "web")
		watch := w.watch("/api/v1/namespaces/a/pods/two?watch=true")
		defer watch.close()
		assert.Equal(t, "ADDED two 3", watch.formatNext())
		w.put("a/one", "web")
		w.put("b/two", "web")
		w.source.Delete(pods, "a/two")
		assert.Equal(t, "DELETED two 6", watch.formatNext())
	})
}

func TestFS10_TheSelectorOfAWatchOnAnObjectMustPinItsName(t *testing.T) {
	run(t, kubeapi.Config{}, func(t *testing.T, w *world) {
		w.put("a/one", "web")
		for _, selector := range []string{"metadata.name=two", "metadata.name!=one", "status.phase=Running"} {
			requireStatus(t, w.get("/api/v1/namespaces/a/pods/one?watch=1&fieldSelector="+url.QueryEscape(selector)), 400, "BadRequest")
		}
		watch := w.watch("/api/v1/namespaces/a/pods/one?watch=1&fieldSelector=" + url.QueryEscape("metadata.name=one,status.phase=Running"))
		defer watch.close()
		assert.Equal(t, "ADDED one 2", watch.formatNext())
	})
}

func TestP2_FramesAreJSONValuesOnLines(t *testing.T) {
	run(t, kubeapi.Config{}, func(t *testing.T, w *world) {
		for i := range 5 {
			w.put(api.Key(fmt.Sprintf("a/p%d", i)), "web")
		}
		watch := w.watch("/api/v1/pods?watch=1")
		defer watch.close()
		lines := bufio.NewScanner(watch.response.Body)
		for i := range 5 {
			require.True(t, lines.Scan())
			var f frame
			require.NoError(t, json.Unmarshal(lines.Bytes(), &f))
			assert.Equal(t, fmt.Sprintf("ADDED p%d %d", i, i+2), format(f))
			assert.Equal(t, "Pod", f.Object["kind"])
			assert.Equal(t, "v1", f.Object["apiVersion"])
		}
	})
}

func TestP2_ObjectsStoredWithoutKindGetOne(t *testing.T) {
	run(t, kubeapi.Config{}, func(t *testing.T, w *world) {
		w.source.Put(pods, "a/bare", []byte(`{"metadata":{"name":"bare","namespace":"a"}}`))
		watch := w.watch("/api/v1/pods?watch=1")
		defer watch.close()
		object := watch.next().Object
		assert.Equal(t, "Pod", object["kind"])
		assert.Equal(t, "v1", object["apiVersion"])
		single := decode(t, w.get("/api/v1/namespaces/a/pods/bare").text)
		assert.Equal(t, object, single)
	})
}

func TestP6_P18_AVersionThatIsTooOldIsAnErrorFrameAndTheEnd(t *testing.T) {
	run(t, kubeapi.Config{}, func(t *testing.T, w *world) {
		for range 5 {
			w.put("a/one", "web")
		}
		watch := w.watch("/api/v1/pods?watch=1&resourceVersion=2")
		defer watch.close()
		f := watch.next()
		assert.Equal(t, "ERROR 410 Expired", format(f))
		assert.Equal(t, "Status", f.Object["kind"])
		assert.Equal(t, "v1", f.Object["apiVersion"])
		assert.Equal(t, "too old resource version: 2 (6)", f.Object["message"])
		watch.ends()
	})
}

// A client whose connection breaks resumes after the last version that it received. The
// versions of deletions that a relist found are unknown, so a client that resumes after the first
// of them would miss the second. The server therefore ends the watch with a 410.
func TestC3_RelistThatFoundDeletionsEndsTheWatchesOfThoseObjects(t *testing.T) {
	run(t, kubeapi.Config{}, func(t *testing.T, w *world) {
		w.put("a/one", "web")
		w.put("a/two", "web")
		rv := w.put("a/three", "db")
		all := w.watch("/api/v1/pods?watch=1&resourceVersion=" + rv.String())
		defer all.close()
		web := w.watch("/api/v1/pods?watch=1&labelSelector=app%3Dweb&resourceVersion=" + rv.String())
		defer web.close()
		db := w.watch("/api/v1/pods?watch=1&labelSelector=app%3Ddb&resourceVersion=" + rv.String())
		defer db.close()
		w.source.Fail(errors.New("the connection broke"))
		synctest.Wait()
		w.put("a/three", "db")
		w.source.Delete(pods, "a/one")
		w.source.Delete(pods, "a/two")
		require.NoError(t, w.source.Compact(w.source.Revision()))

		for _, watch := range []*watching{all, web} {
			f := watch.next()
			assert.Equal(t, "ERROR 410 Expired", format(f))
			assert.Contains(t, f.Object["message"], "objects were deleted at unknown versions; list again")
			watch.ends()
		}
		assert.Equal(t, "MODIFIED three 5", db.formatNext())
		w.put("a/three", "web")
		assert.Equal(t, "DELETED three 8", db.formatNext())
	})
}

func TestP7_ErrorBeforeTheStreamIsAnHTTPStatus(t *testing.T) {
	run(t, kubeapi.Config{}, func(t *testing.T, w *world) {
		for query, want := range map[string]struct {
			code   int
			reason string
		}{
			"resourceVersion=abc":                       {400, "BadRequest"},
			"resourceVersion=-1":                        {400, "BadRequest"},
			"labelSelector=a,,b":                        {400, "BadRequest"},
			"fieldSelector=spec.unknown%3Dx":            {400, "BadRequest"},
			"fieldSelector=a":                           {400, "BadRequest"},
			"timeoutSeconds=soon":                       {400, "BadRequest"},
			"timeoutSeconds=-1":                         {400, "BadRequest"},
			"includeObject=All":                         {400, "BadRequest"},
			"labelSelector=%zz":                         {400, "BadRequest"},
			"sendInitialEvents=true":                    {422, "Invalid"},
			"resourceVersionMatch=NotOlderThan":         {422, "Invalid"},
			"resourceVersionMatch=Exact":                {422, "Invalid"},
			"resourceVersionMatch=Newest":               {422, "Invalid"},
			"continue=x" + initialEvents:                {422, "Invalid"},
			"sendInitialEvents&resourceVersionMatch=No": {422, "Invalid"},
		} {
			a := w.get("/api/v1/pods?watch=1&" + query)
			t.Log(query, a.text)
			requireStatus(t, a, want.code, want.reason)
		}
	})
}

// The object of a bookmark contains only its kind, apiVersion and resourceVersion (rule
// W24). The watch sends a last bookmark before it ends.
func TestP8_P9_BookmarksContainOnlyTheVersionAndPrecedeTheEnd(t *testing.T) {
	run(t, kubeapi.Config{}, func(t *testing.T, w *world) {
		rv := w.put("a/one", "web")
		watch := w.watch("/api/v1/pods?watch=1&allowWatchBookmarks=true&timeoutSeconds=90&resourceVersion=" + rv.String())
		begun := time.Now()
		w.put("a/two", "web")
		assert.Equal(t, "ADDED two 3", watch.formatNext())
		f := watch.next()
		assert.InDelta(t, 60, time.Since(begun).Seconds(), 3)
		assert.Equal(t, "BOOKMARK", f.Type)
		assert.Equal(t, map[string]any{
			"kind": "Pod", "apiVersion": "v1", "metadata": map[string]any{"resourceVersion": "3"},
		}, f.Object)
		last := time.Time{}
		for watch.decoder.Decode(&f) == nil {
			assert.Equal(t, "BOOKMARK 3", format(f))
			last = time.Now()
		}
		assert.InDelta(t, 88, last.Sub(begun).Seconds(), 2, "one before the deadline")
		assert.Equal(t, 90*time.Second, time.Since(begun))
	})
}

func TestP9_AWatchWithoutATimeoutLastsHalfAnHourOrMore(t *testing.T) {
	run(t, kubeapi.Config{}, func(t *testing.T, w *world) {
		lasted := map[time.Duration]bool{}
		for range 10 {
			begun := time.Now()
			watch := w.watch("/api/v1/pods?watch=1&timeoutSeconds=0&resourceVersion=1&timeout=1s")
			watch.ends()
			took := time.Since(begun)
			assert.GreaterOrEqual(t, took, 30*time.Minute)
			assert.Less(t, took, time.Hour+time.Second)
			lasted[took] = true
		}
		assert.Greater(t, len(lasted), 5, "at random")
	})
}

func TestP10_TheEndOfTheServerIsACleanOne(t *testing.T) {
	run(t, kubeapi.Config{}, func(t *testing.T, w *world) {
		watch := w.watch("/api/v1/pods?watch=1")
		synctest.Wait()
		w.handler.Stop()
		watch.ends()
	})
}

// The cacher ends the watch of a client that does not read. When that client reads again,
// it receives its queued events and an ERROR event. Other clients are unaffected.
func TestP10_ASlowClientIsEndedAndLosesOnlyTheRest(t *testing.T) {
	run(t, kubeapi.Config{Limits: limit.NewSet().With(limit.WriteTimeout, int64(time.Hour))}, func(t *testing.T, w *world) {
		slow := w.watch("/api/v1/pods?watch=1&resourceVersion=1")
		quick := w.watch("/api/v1/pods?watch=1&resourceVersion=1")
		const changes = 3000
		seen := make(chan int)
		go func() {
			n := 0
			for n < changes {
				if quick.formatNext() != fmt.Sprintf("ADDED p%d %d", n, n+2) {
					break
				}
				n++
			}
			seen <- n
		}()
		for i := range changes {
			w.put(api.Key(fmt.Sprintf("a/p%d", i)), "web")
			if i%50 == 0 {
				synctest.Wait()
			}
		}
		assert.Equal(t, changes, <-seen)
		quick.close()
		time.Sleep(10 * time.Second) // virtual time, in which dispatch stops waiting for the slow client
		n := 0
		for {
			var f frame
			require.NoError(t, slow.decoder.Decode(&f))
			if f.Type == "ERROR" {
				assert.EqualValues(t, 410, f.Object["code"])
				assert.Equal(t, "Expired", f.Object["reason"])
				assert.Contains(t, f.Object["message"], "watch again from the last resourceVersion received")
				assert.Contains(t, fmt.Sprint(f.Object["details"]), "reason:SlowConsumer")
				break
			}
			require.Equal(t, fmt.Sprintf("ADDED p%d %d", n, n+2), format(f), "a contiguous beginning")
			n++
		}
		require.ErrorIs(t, slow.decoder.Decode(&frame{}), io.EOF, "a clean end")
		assert.Greater(t, n, 1000)
		assert.Less(t, n, changes)
	})
}

func TestP10_ClientThatDoesNotReadIsDisconnected(t *testing.T) {
	run(t, kubeapi.Config{}, func(t *testing.T, w *world) {
		watch := w.watch("/api/v1/pods?watch=1&resourceVersion=1")
		for i := range 100 {
			w.put(api.Key(fmt.Sprintf("a/p%d", i)), "web")
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		assert.Contains(t, metrics(w), "watchglass_kubeapi_watches 0\n")
		watch.close()
	})
}

func TestP10_ACanceledRequestReleasesItsWatch(t *testing.T) {
	run(t, kubeapi.Config{}, func(t *testing.T, w *world) {
		ctx, cancel := context.WithCancel(t.Context())
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://cluster/api/v1/pods?watch=1", nil)
		require.NoError(t, err)
		response, err := w.client.Do(r)
		require.NoError(t, err)
		synctest.Wait()
		assert.Contains(t, metrics(w), "watchglass_kubeapi_watches 1\n")
		cancel()
		response.Body.Close()
		synctest.Wait()
		assert.Contains(t, metrics(w), "watchglass_kubeapi_watches 0\n")
		assert.Contains(t, metrics(w), `watchglass_kubeapi_requests_total{code="200",verb="watch"} 1`)
	})
}

// metrics returns the handler's metrics in the text format of Prometheus.
func metrics(w *world) string {
	handler, err := hostmetrics.Handler(slog.New(slog.DiscardHandler), hostmetrics.KubeAPI(w.handler))
	if err != nil {
		return err.Error()
	}
	response := httptest.NewRecorder()
	handler.ServeHTTP(response, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	return response.Body.String()
}

func TestP11_LastPendingEventIsFlushed(t *testing.T) {
	run(t, kubeapi.Config{}, func(t *testing.T, w *world) {
		watch := w.watch("/api/v1/pods?watch=1&resourceVersion=1")
		defer watch.close()
		for i := range 20 { // each event arrives before the next write
			rv := w.put("a/one", fmt.Sprint(i))
			want := "MODIFIED"
			if i == 0 {
				want = "ADDED"
			}
			assert.Equal(t, fmt.Sprintf("%s one %d", want, rv), watch.formatNext())
		}
	})
}

func TestC10_C15_InitialEventsEndWithAMark(t *testing.T) {
	run(t, kubeapi.Config{}, func(t *testing.T, w *world) {
		w.put("a/one", "web")
		w.put("a/two", "api")
		w.put("b/one", "web")
		for _, query := range []string{
			initialEvents,
			initialEvents + "&resourceVersion=0",
			"&allowWatchBookmarks=true", // rule C10
			"&allowWatchBookmarks=true&resourceVersion=0",
		} {
			watch := w.watch("/api/v1/pods?watch=1&labelSelector=app%3Dweb" + query)
			assert.Equal(t, "ADDED one 2", watch.formatNext())
			assert.Equal(t, "ADDED one 4", watch.formatNext())
			assert.Equal(t, "BOOKMARK 4 end", watch.formatNext(), query)
			watch.close()
		}
	})
}

func TestC16_InitialEventsWithoutBookmarksHaveNoMark(t *testing.T) {
	run(t, kubeapi.Config{}, func(t *testing.T, w *world) {
		w.put("a/one", "web")
		watch := w.watch("/api/v1/pods?watch=1&timeoutSeconds=200")
		assert.Equal(t, "ADDED one 2", watch.formatNext())
		watch.ends()
	})
}

func TestC14_NoInitialEventsWhenTheyAreDeclined(t *testing.T) {
	run(t, kubeapi.Config{}, func(t *testing.T, w *world) {
		w.put("a/one", "web")
		watch := w.watch("/api/v1/pods?watch=1&sendInitialEvents=false&resourceVersionMatch=NotOlderThan&resourceVersion=0")
		defer watch.close()
		w.put("a/two", "web")
		assert.Equal(t, "ADDED two 3", watch.formatNext())
	})
}

func TestC13_P20_InitialEventsOfTheFutureWaitAndThenFail(t *testing.T) {
	run(t, kubeapi.Config{}, func(t *testing.T, w *world) {
		watch := w.watch("/api/v1/pods?watch=1&resourceVersion=100" + initialEvents)
		begun := time.Now()
		f := watch.next()
		assert.Equal(t, 3*time.Second, time.Since(begun))
		assert.Equal(t, "ERROR 504 Timeout", format(f))
		watch.ends()
	})
}

func TestW27_ChangesAreConvertedForTheSelector(t *testing.T) {
	run(t, kubeapi.Config{}, func(t *testing.T, w *world) {
		watch := w.watch("/api/v1/namespaces/a/pods?watch=1&labelSelector=app%3Dweb")
		defer watch.close()
		w.put("a/one", "web")
		w.put("a/one", "api")
		w.put("b/one", "web")
		w.put("a/one", "web")
		w.source.Delete(pods, "a/one")
		assert.Equal(t, "ADDED one 2", watch.formatNext())
		assert.Equal(t, "DELETED one 3", watch.formatNext())
		assert.Equal(t, "ADDED one 5", watch.formatNext())
		assert.Equal(t, "DELETED one 6", watch.formatNext())
	})
}

func TestP13_AWatchOnMetadata(t *testing.T) {
	run(t, kubeapi.Config{}, func(t *testing.T, w *world) {
		w.put("a/one", "web")
		w.header.Set("Accept", "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1")
		watch := w.watch("/api/v1/pods?watch=1" + initialEvents)
		defer watch.close()
		object := watch.next().Object
		assert.Equal(t, "PartialObjectMetadata", object["kind"])
		assert.Equal(t, "meta.k8s.io/v1", object["apiVersion"])
		assert.Len(t, object, 3)
		assert.Equal(t, map[string]any{"note": "x"}, object["metadata"].(map[string]any)["annotations"])
		f := watch.next()
		assert.Equal(t, "BOOKMARK 2 end", format(f))
		assert.Equal(t, "PartialObjectMetadata", f.Object["kind"])
	})
}

func TestP13_StatusesAreNeverConverted(t *testing.T) {
	run(t, kubeapi.Config{}, func(t *testing.T, w *world) {
		for _, as := range []string{"Table", "PartialObjectMetadata"} {
			w.put("a/one", "web")
			w.put("a/one", "web")
			w.header.Set("Accept", "application/json;g=meta.k8s.io;v=v1;as="+as)
			watch := w.watch("/api/v1/pods?watch=1&resourceVersion=1")
			f := watch.next()
			assert.Equal(t, "Status", f.Object["kind"])
			watch.ends()
		}
	})
}

func TestP15_OnlyInitialEventsAreCompressedAndAreFlushed(t *testing.T) {
	run(t, kubeapi.Config{}, func(t *testing.T, w *world) {
		w.put("a/one", "web")
		w.header.Set("Accept-Encoding", "gzip")
		for query, compressed := range map[string]bool{
			initialEvents:                            true,
			"&allowWatchBookmarks=true":              true, // initial events are the default
			"&resourceVersion=2":                     false,
			"":                                       false, // no bookmarks
			"&allowWatchBookmarks&resourceVersion=2": false,
		} {
			watch := w.watch("/api/v1/pods?watch=1" + query)
			assert.Equal(t, compressed, watch.response.Header.Get("Content-Encoding") == "gzip", query)
			watch.close()
		}
		watch := w.watch("/api/v1/pods?watch=1" + initialEvents)
		defer watch.close()
		plain, err := gzip.NewReader(watch.response.Body)
		require.NoError(t, err)
		watch.decoder = json.NewDecoder(plain)
		assert.Equal(t, "ADDED one 2", watch.formatNext())
		assert.Equal(t, "BOOKMARK 2 end", watch.formatNext())
		w.put("a/two", "web")
		assert.Equal(t, "ADDED two 3", watch.formatNext(), "another member of the same stream")
	})
}

func TestP15_CompressionIsOnlyOnRequest(t *testing.T) {
	run(t, kubeapi.Config{}, func(t *testing.T, w *world) {
		w.put("a/one", "web")
		for _, encoding := range []string{"", "identity", "br", "gzip;q=0"} {
			w.header.Set("Accept-Encoding", encoding)
			watch := w.watch("/api/v1/pods?watch=1" + initialEvents)
			assert.Empty(t, watch.response.Header.Get("Content-Encoding"), encoding)
			assert.Equal(t, "ADDED one 2", watch.formatNext())
			watch.close()
		}
	})
}

func TestHeadOfAWatchReturnsItsHeaders(t *testing.T) {
	run(t, kubeapi.Config{}, func(t *testing.T, w *world) {
		a := w.do(http.MethodHead, "/api/v1/pods?watch=1")
		assert.Equal(t, 200, a.StatusCode)
		assert.Equal(t, "application/json", a.Header.Get("Content-Type"))
		assert.Empty(t, a.text)
	})
}

// A request for a collection that the source has not yet listed gets 429 after ten seconds
// instead of waiting longer.
func TestC6_NotReadyIs429WithRetryAfter(t *testing.T) {
	run(t, kubeapi.Config{}, func(t *testing.T, w *world) {
		w.source.stalled = true
		for _, query := range []string{"", "?watch=1"} {
			begun := time.Now()
			a := w.get("/api/v1/pods" + query)
			status := requireStatus(t, a, 429, "TooManyRequests")
			assert.Equal(t, "1", a.Header.Get("Retry-After"))
			assert.EqualValues(t, 1, status["details"].(map[string]any)["retryAfterSeconds"])
			assert.Equal(t, 10*time.Second, time.Since(begun))
		}
	})
}

// Shard selectors are an alpha feature of Kubernetes that is off by default. A server
// without the feature ignores the parameter. Clients recognize this by the missing
// shardInfo.
func TestX1_X2_X3_ShardSelectorsAreIgnored(t *testing.T) {
	run(t, kubeapi.Config{}, func(t *testing.T, w *world) {
		w.put("a/one", "web")
		w.put("a/two", "web")
		for _, selector := range []string{
			"shardRange(object.metadata.uid, '0x0', '0x1')",
			"shardRange(object.metadata.namespace, '0x8000000000000000', '0x10000000000000000')",
			"no selector",
		} {
			query := "shardSelector=" + url.QueryEscape(selector)
			list := decode(t, w.get("/api/v1/pods?"+query).text)
			assert.Len(t, list["items"], 2)
			assert.NotContains(t, list["metadata"], "shardInfo")

			watch := w.watch("/api/v1/pods?watch=1&" + query)
			assert.Equal(t, "ADDED one 2", watch.formatNext())
			assert.Equal(t, "ADDED two 3", watch.formatNext())
			watch.close()
		}
	})
}
