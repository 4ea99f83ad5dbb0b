package apiserver

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/catalog"
	"github.com/watchglass/watchglass/core/objectjson"
	"github.com/watchglass/watchglass/core/wire"
	"github.com/watchglass/watchglass/host/clustersim"
	"github.com/watchglass/watchglass/host/connector"
	"github.com/watchglass/watchglass/host/connector/connectortest"
	"github.com/watchglass/watchglass/host/source"
	"github.com/watchglass/watchglass/host/source/kube"
	"github.com/watchglass/watchglass/host/source/memory"
)

// podCollector stores the pods that a simulated cluster writes.
type podCollector struct{ writes []source.Write }

func (c *podCollector) Txn(_ context.Context, writes ...source.Write) (api.ResourceVersion, error) {
	for _, write := range writes {
		if write.Resource == pods {
			c.writes = append(c.writes, write)
		}
	}
	return 1, nil
}

// BenchmarkSnapshot compares the bytes per pod of an initial sync, rows first, with those
// of a list from a kube-apiserver. It measures the pods that "make bench" generates, and the
// same pods as kube-apiserver returns them. The returned pods have defaults, managedFields of two
// managers, new UIDs, and creation times that are close together.
func BenchmarkSnapshot(b *testing.B) {
	const count = 10_000
	var generated podCollector
	cluster, err := clustersim.New(&generated, clustersim.Config{Pods: count})
	require.NoError(b, err)
	require.NoError(b, cluster.Populate(b.Context(), nil))
	require.Len(b, generated.writes, count)

	b.Run("Generated", func(b *testing.B) {
		src := memory.New(catalog.All()...)
		var items []json.RawMessage
		for _, write := range generated.writes {
			src.Put(pods, write.Key, write.Value)
			items = append(items, write.Value)
		}
		benchmarkSnapshot(b, src, items)
	})
	b.Run("Server", func(b *testing.B) {
		createPods(b, generated.writes)
		var list struct{ Items []json.RawMessage }
		require.NoError(b, json.Unmarshal(forms[0].list(b, "identity"), &list))
		require.Len(b, list.Items, count)
		sent := len(forms[0].list(b, "gzip"))
		src, err := kube.New(kube.Config{REST: shared.config(admin)})
		require.NoError(b, err)
		defer src.Close()
		benchmarkSnapshot(b, src, list.Items)
		b.ReportMetric(float64(sent)/count, "sent-gzip-B/pod")
	})
}

// createPods creates the pods, and then sets their status, as a controller and a kubelet
// do. It uses several connections. The pods exist until the benchmark ends.
func createPods(b *testing.B, writes []source.Write) {
	namespaces := map[string]bool{}
	for _, write := range writes {
		namespaces[write.Key.Namespace()] = true
	}
	for name := range namespaces {
		_, err := shared.put(api.Resource{Version: "v1", Name: "namespaces"}, api.NewKey("", name), []byte(`{"metadata":{"name":"`+name+`"}}`))
		require.NoError(b, err)
	}
	b.Cleanup(func() {
		for name := range namespaces {
			_, err := send(http.MethodDelete, collectionPath(pods, name), map[string]any{"gracePeriodSeconds": 0})
			require.NoError(b, err)
		}
	})
	next := make(chan source.Write, len(writes))
	for _, write := range writes {
		next <- write
	}
	close(next)
	errs := make(chan error, 8)
	var workers sync.WaitGroup
	for range cap(errs) {
		workers.Go(func() {
			for write := range next {
				if err := createPod(write); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	workers.Wait()
	close(errs)
	require.NoError(b, <-errs)
}

func createPod(write source.Write) error {
	var pod map[string]any
	if err := json.Unmarshal(write.Value, &pod); err != nil {
		return err
	}
	metadata, status := pod["metadata"].(map[string]any), pod["status"]
	for _, name := range []string{"uid", "resourceVersion", "creationTimestamp", "generation", "managedFields"} {
		delete(metadata, name)
	}
	path := collectionPath(pods, write.Key.Namespace())
	answer, err := send(http.MethodPost, path+"?fieldManager=kube-controller-manager", pod)
	if err != nil {
		return err
	}
	var created map[string]any
	if err := json.Unmarshal(answer, &created); err != nil {
		return err
	}
	created["status"] = status
	_, err = send(http.MethodPut, path+"/"+write.Key.Name()+"/status?fieldManager=kubelet", created)
	return err
}

func send(method, path string, object any) ([]byte, error) {
	text, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	code, answer, err := shared.request(method, path, text)
	if err == nil && code >= 300 {
		err = fmt.Errorf("%s %s: %d %s", method, path, code, answer)
	}
	return answer, err
}

// benchmarkSnapshot syncs readers with the pods of a source, whose JSON is in items.
func benchmarkSnapshot(b *testing.B, src source.Source, items []json.RawMessage) {
	c := connector.New(connector.Config{Source: src, Logger: slog.New(slog.DiscardHandler)})
	defer c.Close(context.Background()) // returns no error that matters here
	var rows, all int
	for b.Loop() {
		rows, all = syncPods(b, c, len(items))
	}
	plain, fast, small := listSizes(b, items)
	count := float64(len(items))
	b.ReportMetric(float64(plain)/count, "json-B/pod")
	b.ReportMetric(float64(fast)/count, "gzip1-B/pod")
	b.ReportMetric(float64(small)/count, "gzip6-B/pod")
	b.ReportMetric(float64(rows)/count, "rows-B/pod")
	b.ReportMetric(float64(all)/count, "all-B/pod")
	b.ReportMetric(float64(rows)/float64(small), "rows/gzip6")
	b.ReportMetric(float64(all)/float64(small), "all/gzip6")
}

// syncPods returns the bytes that a reader receives until its rows are complete, and
// until all bodies have arrived.
func syncPods(b *testing.B, c *connector.Connector, count int) (rows, all int) {
	ctx, cancel := context.WithTimeout(b.Context(), patience)
	defer cancel()
	served, end := connectortest.Pipe()
	var serving sync.WaitGroup
	serving.Go(func() { c.Serve(ctx, served) })
	defer serving.Wait()
	r := connectortest.NewReader(end)
	defer end.Close(nil)
	require.NoError(b, r.Hello(ctx, ""))
	s, err := r.Subscribe(ctx, wire.Subscribe{Subscription: 1, Resource: pods.String(), RowsFirst: true, Credit: connectortest.Endless})
	require.NoError(b, err)
	require.NoError(b, r.UntilSynced(ctx, s))
	require.Nil(b, s.Status)
	require.Len(b, s.Objects, count)
	rows = r.Bytes
	require.NoError(b, r.Until(ctx, func() bool { return s.BodiesSynced }))
	for key, o := range s.Objects {
		require.NotEmpty(b, o.JSON, "the body of %s", key)
	}
	return rows, r.Bytes
}

// listSizes returns the size of a list of the items, and its sizes after gzip -1 and -6
// without managedFields.
func listSizes(b *testing.B, items []json.RawMessage) (plain, fast, small int64) {
	scanner, err := catalog.NewScanner(catalog.Find(pods))
	require.NoError(b, err)
	var stripped bytes.Buffer
	for _, item := range items {
		plain += int64(len(item)) + 1
		o, err := scanner.Scan(item, objectjson.Options{})
		require.NoError(b, err)
		stripped.Write(o.Body.Data)
		stripped.WriteByte(',')
	}
	return plain, gzipped(b, stripped.Bytes(), 1), gzipped(b, stripped.Bytes(), 6)
}
