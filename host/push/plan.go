package push

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/watchglass/watchglass/core/api"
)

// maxPlan is the maximum size, in bytes, of a response that lists the objects of an edge.
const maxPlan = 1 << 20

// object describes a Durable Object by the resources and the namespaces that it stores.
type object struct {
	resources []api.Resource
	shard     api.Shard // part of the namespaces of each resource
}

// plan requests the division from the edge and returns the objects. If the edge responds
// with 426, a single object stores all resources.
func (p *Pusher) plan(ctx context.Context) ([]object, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	header, err := p.header()
	if err != nil {
		return nil, err
	}
	everything := object{resources: p.config.Resources}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http"+strings.TrimPrefix(p.target("", everything), "ws"), nil)
	if err != nil {
		return nil, err
	}
	request.Header = header
	resp, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusOK:
		objects, err := p.parsePlan(io.LimitReader(resp.Body, maxPlan))
		if err != nil {
			return nil, err
		}
		return objects, p.checkPlan(ctx, objects)
	case http.StatusUpgradeRequired:
		return []object{everything}, nil
	}
	return nil, refusedBy(resp)
}

// parsePlan parses the division that an edge returned. Together, the objects must store
// exactly the pushed resources.
func (p *Pusher) parsePlan(body io.Reader) ([]object, error) {
	var division struct {
		Objects []struct {
			Resources []string
			Shard     string
		}
	}
	if err := json.NewDecoder(body).Decode(&division); err != nil {
		return nil, fmt.Errorf("the edge did not return its division: %w; is it a watchglass edge?", err)
	}
	missing := slices.Clone(p.config.Resources)
	var objects []object
	for _, listed := range division.Objects {
		shard, status := api.ParseShard(listed.Shard)
		if status != nil {
			return nil, fmt.Errorf("the edge returned an invalid object: %w", status)
		}
		object := object{shard: shard}
		for _, text := range listed.Resources {
			resource, err := api.ParseResource(text)
			if err != nil || !slices.Contains(p.config.Resources, resource) {
				return nil, fmt.Errorf("the edge expects %s, which is not pushed", strconv.Quote(text))
			}
			object.resources = append(object.resources, resource)
			missing = slices.DeleteFunc(missing, func(r api.Resource) bool { return r == resource })
		}
		if len(object.resources) == 0 { // an empty list would mean all resources
			return nil, errors.New("the edge returned an object without resources")
		}
		objects = append(objects, object)
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("the edge has no object for %s", missing[0])
	}
	return objects, nil
}

// errIndivisible reports that the edge divides a cluster-scoped resource by namespace.
var errIndivisible = errors.New("it has no namespaces: remove it from the group with shards in WATCHGLASS_CLUSTERS")

// checkPlan checks that resources divided by namespace are namespaced.
func (p *Pusher) checkPlan(ctx context.Context, objects []object) error {
	for _, object := range objects {
		for _, resource := range object.resources {
			if object.shard.Whole() {
				continue
			}
			schema, err := p.config.Connector.Backend().Schema(ctx, resource)
			if err != nil {
				return err
			}
			if !schema.Namespaced {
				return fmt.Errorf("the edge divides %s by namespace, and %w", resource, errIndivisible)
			}
		}
	}
	return nil
}

// samePlan reports whether two plans contain the same objects.
func samePlan(a, b []object) bool {
	return slices.EqualFunc(a, b, func(a, b object) bool {
		return a.shard == b.shard && slices.Equal(a.resources, b.resources)
	})
}

// errDivided reports that the edge now divides its resources differently.
var errDivided = errors.New("the edge has changed the division of its resources")

// moved reports whether err is a refusal by a Durable Object, and the edge's division now
// differs from the known objects.
func (p *Pusher) moved(ctx context.Context, err error, known []object) bool {
	var refused *RefusedError
	if !errors.As(err, &refused) {
		return false
	}
	objects, err := p.plan(ctx)
	return err == nil && !samePlan(objects, known)
}
