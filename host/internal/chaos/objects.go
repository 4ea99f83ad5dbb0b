//go:build unix

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/watchglass/watchglass/core/api"
)

// The objects of a run are ConfigMaps below one etcd prefix.
var resource = api.Resource{Version: "v1", Name: "configmaps"}

const prefix = "/registry/configmaps/"

// object is the state of one object in a reader's store or in etcd.
type object struct {
	rv   api.ResourceVersion
	json string
}

// contents is the state of a reader's store or of etcd.
type contents map[api.Key]object

// versions returns the resource version of each object.
func (c contents) versions() map[api.Key]api.ResourceVersion {
	v := make(map[api.Key]api.ResourceVersion, len(c))
	for key, o := range c {
		v[key] = o.rv
	}
	return v
}

// scope selects the objects of a namespace and a tier. An empty field does not restrict the
// selection.
type scope struct{ namespace, tier string }

func (s scope) selector() string {
	if s.tier == "" {
		return ""
	}
	return "tier=" + s.tier
}

func (s scope) match(key api.Key, o object) bool {
	return strings.HasPrefix(string(key), s.namespace) && strings.Contains(o.json, `"labels":{"tier":"`+s.tier)
}

// within returns the objects in scope.
func (c contents) within(s scope) contents {
	part := maps.Clone(c)
	maps.DeleteFunc(part, func(key api.Key, o object) bool { return !s.match(key, o) })
	return part
}

// stored reads all objects from etcd, and returns them with the revision of the read. It
// adds the resource version to the JSON of each object, as connectors do.
func stored(ctx context.Context, client *clientv3.Client) (contents, api.ResourceVersion, error) {
	r, err := client.Get(ctx, prefix, clientv3.WithPrefix())
	if err != nil {
		return nil, 0, err
	}
	all := make(contents, len(r.Kvs))
	for _, kv := range r.Kvs {
		rv := api.ResourceVersion(kv.ModRevision)
		version := fmt.Sprintf(`"metadata":{"resourceVersion":"%d",`, rv)
		all[api.Key(strings.TrimPrefix(string(kv.Key), prefix))] = object{rv, strings.Replace(string(kv.Value), `"metadata":{`, version, 1)}
	}
	return all, api.ResourceVersion(r.Header.Revision), nil
}

// differences returns an error that describes how a reader's state differs from
// etcd, or nil.
func differences(got, want contents) error {
	var found []string
	for _, key := range slices.Sorted(maps.Keys(want)) {
		switch g, ok := got[key]; {
		case !ok:
			found = append(found, fmt.Sprintf("%s@%d is missing", key, want[key].rv))
		case g.rv != want[key].rv:
			found = append(found, fmt.Sprintf("%s is at %d, expected %d", key, g.rv, want[key].rv))
		case g.json != want[key].json:
			found = append(found, fmt.Sprintf("%s@%d is %.300s, expected %.300s", key, g.rv, g.json, want[key].json))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(got)) {
		if _, ok := want[key]; !ok {
			found = append(found, fmt.Sprintf("%s@%d does not exist in etcd", key, got[key].rv))
		}
	}
	if len(found) == 0 {
		return nil
	}
	return fmt.Errorf("%d of %d objects differ: %s", len(found), len(want), strings.Join(found[:min(3, len(found))], "; "))
}

// canonical returns the contents with sorted members in the JSON of each object.
// Use it for comparisons with readers that return decoded objects.
func (c contents) canonical() (contents, error) {
	sorted := make(contents, len(c))
	for key, o := range c {
		var value any
		if err := json.Unmarshal([]byte(o.json), &value); err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
		text, err := json.Marshal(value)
		if err != nil {
			return nil, err
		}
		sorted[key] = object{o.rv, string(text)}
	}
	return sorted, nil
}
