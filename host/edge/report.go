package edge

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/watchglass/watchglass/host/access"
	"github.com/watchglass/watchglass/host/access/token"
)

const (
	// maxReport is the maximum size of a Durable Object's status.
	maxReport = 1 << 20
	// reportTimeout limits the wait for the status of one Durable Object. A slow or lost
	// object delays the caller by at most this time.
	reportTimeout = 2 * time.Second
	// reportsAtOnce is the maximum number of concurrent requests for a status. With 256
	// objects, all requests take at most 8 seconds, which is less than the default scrape
	// timeout of Prometheus.
	reportsAtOnce = 64
)

// report contains the relevant part of a Durable Object's /status.
type report struct {
	Feeds struct {
		Connected []struct {
			Active bool `json:"active"`
		} `json:"connected"`
	} `json:"feeds"`
	Resources  map[string]held `json:"resources"`
	Readers    int             `json:"readers"`
	MaxReaders int             `json:"maxReaders"`
	Counters   struct {
		ReadersStalled     int `json:"readersStalled"`
		ReadersRateLimited int `json:"readersRateLimited"`
		Restarts           int `json:"restarts"`
	} `json:"counters"`
	// Metrics contains measurements since the object was loaded into memory.
	Metrics struct {
		Connections        int                       `json:"connections"`
		Refused            int                       `json:"refused"`
		Malformed          int                       `json:"malformed"`
		Messages           int                       `json:"messages"`
		Bytes              int                       `json:"bytes"`
		SubscriptionErrors map[string]int            `json:"subscriptionErrors"` // by code
		Refusals           map[string]int            `json:"refusals"`           // by limit, or another cause
		Requests           map[string]map[string]int `json:"requests"`           // by verb and code
		Delivery           histogram                 `json:"delivery"`
		Lists              map[string]histogram      `json:"lists"` // by code
		Resources          map[string]measured       `json:"resources"`
	} `json:"metrics"`
	Subscriptions map[string]subscribed `json:"subscriptions"` // by resource
	Requests      struct {
		Watches int `json:"watches"`
		Waiting int `json:"waiting"`
	} `json:"requests"`
	Memory struct {
		Module         int `json:"module"`
		Buffers        int `json:"buffers"`
		Unacknowledged int `json:"unacknowledged"`
		Limit          int `json:"limit"`
	} `json:"memory"`
	Storage struct {
		Bytes int `json:"bytes"`
	} `json:"storage"`
}

// measured contains the measurements of one resource since the object was loaded into memory.
type measured struct {
	Bytes       int       `json:"bytes"`
	Faults      int       `json:"faults"`
	InitialSync histogram `json:"initialSync"`
}

// subscribed contains the numbers of readers and subscriptions of a resource.
type subscribed struct {
	Readers       int `json:"readers"`
	Subscriptions int `json:"subscriptions"`
}

// histogram contains durations in seconds. Counts has one element for each bound, and a
// last element for durations above all bounds.
type histogram struct {
	Bounds []float64 `json:"bounds"`
	Counts []int     `json:"counts"`
	Sum    float64   `json:"sum"`
}

// held is the state of one resource in a Durable Object.
type held struct {
	State        string `json:"state"`
	LastProgress int64  `json:"lastProgress"` // in milliseconds since the epoch; 0 for never
	Objects      int    `json:"objects"`
	MetadataOnly bool   `json:"metadataOnly"`
	// Cache contains the statistics of the module. Counters start at zero when the object
	// is loaded into memory.
	Cache struct {
		UsedBytes         int `json:"usedBytes"`
		History           int `json:"history"`
		Events            int `json:"events"`
		Relists           int `json:"relists"`
		Resumes           int `json:"resumes"`
		Expired           int `json:"expired"`
		TerminatedWatches int `json:"terminatedWatches"`
		OvertakenWatches  int `json:"overtakenWatches"`
		Stalls            int `json:"stalls"`
		Conflations       int `json:"conflations"`
		InitialEvents     int `json:"initialEvents"`
	} `json:"cache"`
}

// live is the state of a current collection.
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

// answered is the result of a request to an object: its report or an error.
type answered struct {
	object string
	report *report
	err    error
}

// reports requests the status of every object of the cluster concurrently.
func (b *backend) reports(ctx context.Context) []answered {
	objects := b.cluster.objects()
	all := make([]answered, len(objects))
	var group errgroup.Group
	group.SetLimit(reportsAtOnce)
	for i, object := range objects {
		group.Go(func() error {
			ctx, cancel := context.WithTimeoutCause(ctx, reportTimeout, errors.New("it took more than "+reportTimeout.String()))
			defer cancel()
			report, err := b.report(ctx, object)
			if err != nil && ctx.Err() != nil {
				err = unanswered(objectName(b.name, object), context.Cause(ctx))
			}
			all[i] = answered{object, report, err}
			return nil
		})
	}
	_ = group.Wait() // each result has its own error
	return all
}

// ready serves /readyz, which succeeds if a connector feeds every object and every
// resource is live. The response to a restricted token contains no reasons, because
// reasons can name resources that the token may not read.
func (c *cluster) ready(w http.ResponseWriter, r *http.Request, user *access.User) {
	var reasons []string
	for _, a := range c.backend.reports(r.Context()) {
		if a.err != nil {
			reasons = append(reasons, a.err.Error())
			continue
		}
		reasons = append(reasons, a.report.lacking(a.object)...)
	}
	if len(reasons) > 0 && !token.Unrestricted(user) {
		plain(w, http.StatusServiceUnavailable, "not ready\n")
		return
	}
	if len(reasons) > 0 {
		plain(w, http.StatusServiceUnavailable, "not ready: "+strings.Join(reasons, "; ")+"\n")
		return
	}
	plain(w, http.StatusOK, "ready\n")
}

// lacking returns why a Durable Object is not ready.
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
