//go:build linux

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/host/clustersim"
	"github.com/watchglass/watchglass/host/embedetcd"
	"github.com/watchglass/watchglass/host/source"
	"github.com/watchglass/watchglass/host/source/etcd"
)

var resource = api.Resource{Version: "v1", Name: "configmaps"}

// slots is the number of objects that change in turn. The number is large, because the measured
// latency is wrong if an object changes again before its last change arrives.
const slots = 1000

// cluster is the simulated cluster that the connector reads.
type cluster struct {
	etcd    *embedetcd.Server
	writer  *etcd.Writer
	api     *process // serves the Kubernetes API from etcd, without reviews
	reviews *http.Server
	config  string // the kubeconfig file
	objects int
	sim     *clustersim.Cluster // only for the sizing table, where it replaces the ConfigMaps

	written atomic.Int64
	sent    [slots]atomic.Int64 // time of the last change of each slot, in nanoseconds
	last    atomic.Uint64       // the newest resource version
}

func startCluster(ctx context.Context, c Config) (*cluster, error) {
	store, err := embedetcd.Start(embedetcd.Config{UnsafeNoFsync: true})
	if err != nil {
		return nil, err
	}
	k := &cluster{etcd: store, objects: c.Objects, config: filepath.Join(c.Dir, "kubeconfig")}
	if k.writer, err = etcd.NewWriter(store.Client(), etcd.Config{}); err != nil {
		return k, err
	}
	if c.Pods > 0 {
		if k.sim, err = clustersim.New(k.writer, clustersim.Config{Pods: c.Pods, Seed: 1}); err != nil {
			return k, err
		}
		err = k.sim.Populate(ctx, func(int, int) {})
	} else {
		err = k.populate(ctx)
	}
	if err != nil {
		return k, err
	}
	if k.api, err = serve(ctx, c.Binary, filepath.Join(c.Dir, "cluster.log"), "--etcd-endpoints", strings.Join(store.Endpoints(), ",")); err != nil {
		return k, err
	}
	return k, k.startReviews()
}

func (k *cluster) close() {
	if k.reviews != nil {
		_ = k.reviews.Close() // an error is harmless: the connector has ended
	}
	if k.api != nil {
		k.api.kill()
	}
	_ = k.etcd.Close() // its directory is temporary
}

func (k *cluster) populate(ctx context.Context) error {
	var batch []source.Write
	for i := range k.objects {
		batch = append(batch, k.object(fmt.Sprintf("object-%06d", i)))
		if len(batch) == 100 || i == k.objects-1 {
			if _, err := k.writer.Txn(ctx, batch...); err != nil {
				return err
			}
			batch = batch[:0]
		}
	}
	return nil
}

// object renders a ConfigMap of about half a kilobyte.
func (k *cluster) object(name string) source.Write {
	var text strings.Builder
	for range 40 {
		fmt.Fprintf(&text, "%x ", rand.Uint32())
	}
	value := fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":%q,"namespace":"load","uid":%q,"labels":{"app":"load"}},"data":{"text":%q}}`,
		name, "uid-"+name, text.String())
	return source.Write{Resource: resource, Key: api.Key("load/" + name), Value: []byte(value)}
}

// change changes the objects in turn, at the given rate, until ctx is done.
func (k *cluster) change(ctx context.Context, perSecond float64) error {
	for limiter := rate.NewLimiter(rate.Limit(perSecond), 1); limiter.Wait(ctx) == nil; {
		slot := int(k.written.Load() % slots)
		write := k.object(fmt.Sprintf("slot-%04d", slot))
		k.sent[slot].Store(time.Now().UnixNano())
		rv, err := k.writer.Txn(context.WithoutCancel(ctx), write)
		if err != nil {
			return err
		}
		k.written.Add(1)
		k.last.Store(uint64(rv))
	}
	return nil
}

// startReviews serves the Kubernetes API of the cluster, and also TokenReview and
// SubjectAccessReview. The token "user-x" belongs to the user with that name, who may read
// everything.
func (k *cluster) startReviews() error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: k.api.kubeAPI})
	proxy.FlushInterval = -1
	mux := http.NewServeMux()
	mux.Handle("/", proxy)
	mux.HandleFunc("POST /apis/authentication.k8s.io/v1/tokenreviews", func(w http.ResponseWriter, r *http.Request) {
		answer(w, r, func(spec map[string]any) map[string]any {
			token, _ := spec["token"].(string)
			if !strings.HasPrefix(token, "user-") {
				return map[string]any{"authenticated": false}
			}
			return map[string]any{"authenticated": true, "user": map[string]any{"username": token}}
		})
	})
	mux.HandleFunc("POST /apis/authorization.k8s.io/v1/subjectaccessreviews", func(w http.ResponseWriter, r *http.Request) {
		answer(w, r, func(map[string]any) map[string]any { return map[string]any{"allowed": true} })
	})
	k.reviews = &http.Server{Handler: mux}
	go func() { _ = k.reviews.Serve(listener) }() // ends with close
	text := fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"load",`+
		`"clusters":[{"name":"load","cluster":{"server":"http://%s"}}],"users":[{"name":"load","user":{}}],`+
		`"contexts":[{"name":"load","context":{"cluster":"load","user":"load"}}]}`, listener.Addr())
	return os.WriteFile(k.config, []byte(text), 0o600)
}

// answer responds to a review. The function status computes the status of the review from
// its spec.
func answer(w http.ResponseWriter, r *http.Request, status func(spec map[string]any) map[string]any) {
	var review map[string]any
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	spec, _ := review["spec"].(map[string]any)
	review["status"] = status(spec)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	_ = json.NewEncoder(w).Encode(review) // fails only if the connector has ended
}
