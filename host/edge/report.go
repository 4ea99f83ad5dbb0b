package edge

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// maxReport is how much an object says about itself.
const maxReport = 1 << 20

// report is what an object says at /status, as far as it matters here.
type report struct {
	Feeds struct {
		Connected []struct {
			Active bool `json:"active"`
		} `json:"connected"`
	} `json:"feeds"`
	Resources map[string]struct {
		State        string `json:"state"`
		Objects      int    `json:"objects"`
		MetadataOnly bool   `json:"metadataOnly"`
	} `json:"resources"`
	Readers  int `json:"readers"`
	Counters struct {
		ReadersTooSlow int `json:"readersTooSlow"`
		Restarts       int `json:"restarts"`
	} `json:"counters"`
	Memory struct {
		Module  int `json:"module"`
		Buffers int `json:"buffers"`
	} `json:"memory"`
	Storage struct {
		Bytes int `json:"bytes"`
	} `json:"storage"`
}

// live is the state of a collection that is current.
const live = "live"

func (b *backend) report(ctx context.Context, object string) (*report, error) {
	response, err := b.fetch(ctx, object, "/status")
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	var r report
	if err := json.NewDecoder(io.LimitReader(response.Body, maxReport)).Decode(&r); err != nil {
		return nil, unanswered(objectName(b.name, object), err)
	}
	return &r, nil
}

// ready answers /readyz: every object is fed and current.
func (c *cluster) ready(w http.ResponseWriter, r *http.Request) {
	var reasons []string
	for _, object := range c.backend.cluster.objects() {
		report, err := c.backend.report(r.Context(), object)
		if err != nil {
			reasons = append(reasons, err.Error())
			continue
		}
		reasons = append(reasons, report.lacking(object)...)
	}
	if len(reasons) > 0 {
		plain(w, http.StatusServiceUnavailable, "not ready: "+strings.Join(reasons, "; ")+"\n")
		return
	}
	plain(w, http.StatusOK, "ready\n")
}

// lacking says why an object is not ready.
func (r *report) lacking(object string) []string {
	var reasons []string
	if r.active() == 0 {
		reasons = append(reasons, "no connector feeds "+object)
	}
	for _, resource := range slices.Sorted(maps.Keys(r.Resources)) {
		if state := r.Resources[resource].State; state != live {
			reasons = append(reasons, resource+" of "+object+" is "+state)
		}
	}
	return reasons
}

func (r *report) active() int {
	n := 0
	for _, f := range r.Feeds.Connected {
		if f.Active {
			n++
		}
	}
	return n
}

// metrics answers /metrics in the Prometheus text format, with what the objects
// are at this moment: the worker itself forgets everything with each request.
func (c *cluster) metrics(w http.ResponseWriter, r *http.Request) {
	var reports []*report
	objects := c.backend.cluster.objects()
	for _, object := range objects {
		report, err := c.backend.report(r.Context(), object)
		if err != nil {
			plain(w, http.StatusServiceUnavailable, err.Error()+"\n")
			return
		}
		reports = append(reports, report)
	}
	var b strings.Builder
	metric := func(name, help string, each func(shard string, r *report)) {
		kind := "gauge"
		if strings.HasSuffix(name, "_total") {
			kind = "counter"
		}
		fmt.Fprintf(&b, "# HELP watchglass_edge_%s %s\n# TYPE watchglass_edge_%[1]s %[3]s\n", name, help, kind)
		for i, report := range reports {
			each(objects[i], report)
		}
	}
	perObject := func(name, help string, value func(*report) int) {
		metric(name, help, func(shard string, r *report) {
			fmt.Fprintf(&b, "watchglass_edge_%s{cluster=%q,shard=%q} %d\n", name, c.backend.name, shard, value(r))
		})
	}
	perResource := func(name, help string, value func(r *report, resource string) int) {
		metric(name, help, func(shard string, r *report) {
			for _, resource := range slices.Sorted(maps.Keys(r.Resources)) {
				fmt.Fprintf(&b, "watchglass_edge_%s{cluster=%q,shard=%q,resource=%q} %d\n", name, c.backend.name, shard, resource, value(r, resource))
			}
		})
	}
	perObject("readers", "Connected readers.", func(r *report) int { return r.Readers })
	perObject("readers_too_slow_total", "Readers that were sent away because they took nothing while data waited for them.", func(r *report) int {
		return r.Counters.ReadersTooSlow
	})
	perObject("feeds", "Connected connectors.", func(r *report) int { return len(r.Feeds.Connected) })
	perObject("feeds_active", "Connectors that deliver; the others stand by.", (*report).active)
	perResource("objects", "Objects held.", func(r *report, resource string) int { return r.Resources[resource].Objects })
	perResource("live", "Whether the resource is current.", func(r *report, resource string) int {
		return number(r.Resources[resource].State == live)
	})
	perResource("metadata_only", "Whether the resource is held without bodies, for lack of memory.", func(r *report, resource string) int {
		return number(r.Resources[resource].MetadataOnly)
	})
	perObject("memory_bytes", "Bytes of memory that the module takes, with answers that wait for those who asked.", func(r *report) int {
		return r.Memory.Module + r.Memory.Buffers
	})
	perObject("restarts_total", "How often the module was replaced to set memory free.", func(r *report) int { return r.Counters.Restarts })
	perObject("storage_bytes", "Bytes of storage taken.", func(r *report) int { return r.Storage.Bytes })
	plain(w, http.StatusOK, b.String())
}

func number(yes bool) int {
	if yes {
		return 1
	}
	return 0
}
