package apiserver

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/catalog"
	"github.com/watchglass/watchglass/core/objectjson"
	"github.com/watchglass/watchglass/host/clustersim"
	"github.com/watchglass/watchglass/host/source"
	"github.com/watchglass/watchglass/host/source/etcd"
)

// form is a format in which kube-apiserver sends objects: its name, and the Accept header
// and parameter includeObject that request the format.
type form struct{ name, accept, include string }

const tables = "application/json;as=Table;v=v1;g=meta.k8s.io"

var forms = []form{
	{"JSON", "application/json", ""},
	{"TableWithObjects", tables, "Object"},
	{"TableWithMetadata", tables, "Metadata"},
}

// open sends a request for all pods.
func (f form) open(b *testing.B, encoding, parameters string) io.ReadCloser {
	b.Helper()
	request, err := http.NewRequestWithContext(b.Context(), http.MethodGet, shared.URL+"/api/v1/pods?includeObject="+f.include+parameters, nil)
	require.NoError(b, err)
	request.Header.Set("Accept", f.accept)
	request.Header.Set("Accept-Encoding", encoding)
	response, err := shared.http.Do(request)
	require.NoError(b, err)
	require.Equal(b, http.StatusOK, response.StatusCode)
	return response.Body
}

func (f form) list(b *testing.B, encoding string) []byte {
	body := f.open(b, encoding, "")
	defer body.Close()
	text, err := io.ReadAll(body)
	require.NoError(b, err)
	return text
}

// podWriter writes only the pods of a simulated cluster, and counts these writes.
type podWriter struct {
	*etcd.Writer
	written atomic.Int64
}

func (w *podWriter) Txn(ctx context.Context, writes ...source.Write) (api.ResourceVersion, error) {
	pods := slices.DeleteFunc(slices.Clone(writes), func(write source.Write) bool { return write.Resource.String() != "v1/pods" })
	if len(pods) == 0 {
		return 0, nil
	}
	w.written.Add(int64(len(pods)))
	return w.Writer.Txn(ctx, pods...)
}

// BenchmarkTables compares the forms in which kube-apiserver sends 3,000 pods, in lists
// and in watches. Its sub-benchmark Read measures the work of a reader per pod.
func BenchmarkTables(b *testing.B) {
	writer, err := etcd.NewWriter(shared.Etcd.Client(), etcd.Config{Logger: slog.New(slog.DiscardHandler)})
	require.NoError(b, err)
	pods := &podWriter{Writer: writer}
	cluster, err := clustersim.New(pods, clustersim.Config{Pods: 3000})
	require.NoError(b, err)
	require.NoError(b, cluster.Populate(b.Context(), nil))
	// kube-apiserver expects one object per revision, but the simulated cluster writes
	// several. While kube-apiserver processes such a revision, its lists may lack some of
	// the objects.
	for listed := int64(0); listed < pods.written.Load(); {
		var list struct{ Items []struct{} }
		require.NoError(b, json.Unmarshal(forms[0].list(b, "identity"), &list))
		listed = int64(len(list.Items))
	}
	for _, f := range forms {
		b.Run("List/"+f.name, f.benchmarkList)
	}
	for _, f := range forms {
		b.Run("Watch/"+f.name, func(b *testing.B) { f.benchmarkWatch(b, cluster, pods) })
	}
	b.Run("Read", benchmarkReads)
}

// serverCPU returns the processor time that the server has used so far.
func serverCPU(b *testing.B) time.Duration {
	used, err := shared.CPU()
	require.NoError(b, err)
	return used
}

func (f form) benchmarkList(b *testing.B) {
	plain, compressed := f.list(b, "identity"), f.list(b, "gzip")
	began := serverCPU(b)
	for b.Loop() {
		f.list(b, "identity")
	}
	b.ReportMetric(float64((serverCPU(b)-began).Milliseconds())/float64(b.N), "server-ms/list")
	b.ReportMetric(float64(len(plain)), "B")
	b.ReportMetric(float64(len(compressed)), "gzip-B")
}

// benchmarkWatch measures the cost of changes to pods that 20 watches receive. In each
// iteration, all watches receive the same changes.
func (f form) benchmarkWatch(b *testing.B, cluster *clustersim.Cluster, pods *podWriter) {
	const watches = 20
	var version struct {
		Metadata struct{ ResourceVersion string }
	}
	require.NoError(b, json.Unmarshal(form{accept: tables, include: "None"}.list(b, "identity"), &version))
	var readers [watches]*bufio.Reader
	for i := range readers {
		body := f.open(b, "identity", "&watch=1&resourceVersion="+version.Metadata.ResourceVersion)
		defer body.Close()
		readers[i] = bufio.NewReaderSize(body, 1<<16)
	}
	var plain, compressed int64
	// change changes pods, and waits until all watches have reported the changes.
	change := func() (events int64) {
		before := pods.written.Load()
		for pods.written.Load() == before {
			_, err := cluster.Step(b.Context())
			require.NoError(b, err)
		}
		events = pods.written.Load() - before
		for i, reader := range readers {
			for range events {
				line, err := reader.ReadBytes('\n')
				require.NoError(b, err)
				if i == 0 {
					plain, compressed = plain+int64(len(line)), compressed+gzipped(b, line, 6)
				}
			}
		}
		return events
	}
	change() // the first table of a watch also contains the column definitions
	plain, compressed = 0, 0
	began, events := serverCPU(b), int64(0)
	for b.Loop() {
		events += change()
	}
	b.ReportMetric(float64((serverCPU(b)-began).Microseconds())/float64(events*watches), "server-us/event")
	b.ReportMetric(float64(plain)/float64(events), "B/event")
	b.ReportMetric(float64(compressed)/float64(events), "gzip-B/event")
}

// gzipped returns the size of a text compressed with gzip at the given level.
func gzipped(b *testing.B, text []byte, level int) int64 {
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, level)
	require.NoError(b, err)
	_, err = w.Write(text)
	require.NoError(b, errors.Join(err, w.Close()))
	return int64(out.Len())
}

// benchmarkReads measures scanning a pod with the columns of kubectl, scanning it without columns,
// and parsing the cells of a table row.
func benchmarkReads(b *testing.B) {
	var list struct{ Items []json.RawMessage }
	require.NoError(b, json.Unmarshal(forms[0].list(b, "identity"), &list))
	var table struct {
		Rows []struct{ Cells json.RawMessage }
	}
	require.NoError(b, json.Unmarshal(form{accept: tables, include: "None"}.list(b, "identity"), &table))
	schema := *catalog.Find(api.Resource{Version: "v1", Name: "pods"})
	for _, name := range []string{"WithCells", "WithoutCells"} {
		b.Run(name, func(b *testing.B) {
			if name == "WithoutCells" {
				schema.Columns = nil
			}
			scanner, err := catalog.NewScanner(&schema)
			require.NoError(b, err)
			for i := 0; b.Loop(); i++ {
				_, err := scanner.Scan(list.Items[i%len(list.Items)], objectjson.Options{})
				require.NoError(b, err)
			}
		})
	}
	b.Run("CellsOfATable", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			row, err := objectjson.ParseDocument(table.Rows[i%len(table.Rows)].Cells)
			require.NoError(b, err)
			for _, cell := range row.Elements() {
				cell.AppendText(nil)
			}
		}
	})
}
