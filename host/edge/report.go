package edge

import (
	"context"
	"encoding/json"
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
	Resources map[string]held `json:"resources"`
	Readers   int             `json:"readers"`
	Counters  struct {
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

// held is a resource of an object.
type held struct {
	State        string `json:"state"`
	Objects      int    `json:"objects"`
	MetadataOnly bool   `json:"metadataOnly"`
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
