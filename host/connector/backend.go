package connector

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/body"
	"github.com/watchglass/watchglass/core/cacher"
	"github.com/watchglass/watchglass/core/objectjson"
	"github.com/watchglass/watchglass/core/store"
	"github.com/watchglass/watchglass/core/wire"
	"github.com/watchglass/watchglass/host/kubeapi"
	"github.com/watchglass/watchglass/host/limit"
	"github.com/watchglass/watchglass/host/source"
)

// Backend serves the Kubernetes API from the collections that the connector's
// readers share.
func (c *Connector) Backend() kubeapi.Backend { return backend{c} }

// backend implements kubeapi.Backend. A call keeps the collection in use until the call returns;
// a watch keeps it in use until Close. Results are copies, so callers read them without the lock.
type backend struct{ connector *Connector }

// Resources implements kubeapi.Backend.
func (b backend) Resources(ctx context.Context) ([]kubeapi.Resource, error) {
	described, err := describe(ctx, b.connector.config.Source)
	all := make([]kubeapi.Resource, len(described))
	for i, d := range described {
		all[i] = kubeapi.Resource(d)
	}
	return all, err
}

func describe(ctx context.Context, src source.Source) ([]source.Description, error) {
	if d, ok := src.(source.Describer); ok {
		return d.Describe(ctx)
	}
	names, err := src.Resources(ctx)
	if err != nil {
		return nil, err
	}
	var all []source.Description
	for _, name := range names {
		schema, err := src.Schema(ctx, name)
		if err != nil {
			return nil, err
		}
		all = append(all, source.Describe(schema))
	}
	return all, nil
}

// Schema implements kubeapi.Backend.
func (b backend) Schema(ctx context.Context, resource api.Resource) (*api.Schema, error) {
	found := b.connector.schema(ctx, resource)
	if found.status != nil {
		return nil, found.status
	}
	return found.schema, nil
}

// hold waits for the first list of a collection and returns the collection. The caller
// must call release on the collection.
func (b backend) hold(ctx context.Context, resource api.Resource) (*collection, error) {
	return b.holdOnce(ctx, resource, func() error { return nil })
}

func (b backend) holdOnce(ctx context.Context, resource api.Resource, waiting func() error) (*collection, error) {
	bounded, cancel := context.WithTimeout(ctx, b.connector.config.Limits.Duration(limit.ListTimeout))
	defer cancel()
	col, err := b.connector.hold(bounded, resource, func(col *collection) error {
		if err := permitted(col); err != nil {
			return err
		}
		return waiting()
	})
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return nil, b.connector.config.Limits.Refuse(limit.ListTimeout, resource.String()+" has not been listed yet"+b.connector.sourceError(resource)+": try again")
	}
	return col, err
}

// sourceError returns a clause to append to a refusal while the source of the resource is
// failing, and "" otherwise. The clause omits the error text of the source, because the
// text may name objects that the client may not read.
func (c *Connector) sourceError(resource api.Resource) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if col := c.collections[resource]; col != nil && col.status.err != nil {
		return " because the source fails (the log of the connector has the reason)"
	}
	return ""
}

// answered is the result of a request that ran under the lock.
type answered[T any] struct {
	value T
	err   error
}

// await returns the answer, or an error if ctx is done or the connector closes first.
func await[T any](ctx context.Context, c *Connector, answer <-chan answered[T]) (T, error) {
	var none T
	select {
	case a := <-answer:
		return a.value, a.err
	case <-ctx.Done():
		return none, ctx.Err()
	case <-c.stopping.Done():
		return none, c.closing()
	}
}

// Get implements kubeapi.Backend.
func (b backend) Get(ctx context.Context, resource api.Resource, key api.Key, version string) (kubeapi.Object, error) {
	rv, err := api.ParseResourceVersion(version)
	if err != nil {
		return nil, err
	}
	col, err := b.hold(ctx, resource)
	if err != nil {
		return nil, err
	}
	defer col.release()
	answer := make(chan answered[*stored], 1)
	col.request(func(c *cacher.Cacher) {
		c.Waits().WhenFresh(rv, func(status *api.Status) {
			o, status := find(c, key, status)
			answer <- answered[*stored]{o, orNil(status)}
		})
	})
	o, err := await(ctx, b.connector, answer)
	if err != nil {
		return nil, err
	}
	return o.open()
}

// find returns a copy of the last good version of an object, or a status if there is none.
// If the argument status is not nil, find returns it. The caller holds the lock.
func find(c *cacher.Cacher, key api.Key, status *api.Status) (*stored, *api.Status) {
	if status != nil {
		return nil, status
	}
	if ref := c.State().Get(key); ref != 0 {
		return copyVersion(c, ref, c.Arena().ResourceVersion(ref)), nil
	}
	faults, _ := c.Faults()
	for _, f := range faults {
		if f.Key == key && !f.Retracted() {
			return nil, api.Internal(f.Status.Message)
		}
	}
	return nil, api.NotFound(c.Schema().Resource.Name + " " + strconv.Quote(string(key)) + " not found")
}

// stored is a copy of one version of an object, in the encoding of the cacher.
type stored struct {
	rv         api.ResourceVersion
	dictionary []byte
	base       api.Body // the base of the body; zero if the body is not a delta
	wire.Envelope
}

// copyVersion copies a version of an object, with rv as its resource version. The caller
// holds the lock.
func copyVersion(c *cacher.Cacher, ref store.Ref, rv api.ResourceVersion) *stored {
	var buffer []byte // receives the body if it is stored in a block
	base := c.Arena().BaseBody(ref, &buffer)
	if len(buffer) == 0 {
		base.Data = slices.Clone(base.Data)
	}
	buffer = nil
	envelope := c.Arena().Complete(ref, &buffer)
	if len(buffer) == 0 {
		envelope = slices.Clone(envelope)
	}
	return &stored{rv, c.Bodies().Dictionary(ref), base, envelope}
}

// size returns the size of the copied data in bytes.
func (s *stored) size() int { return len(s.base.Data) + len(s.Envelope) }

// open decodes the body and writes the resource version into its JSON.
func (s *stored) open() (kubeapi.Object, error) {
	var base []byte
	var err error
	if s.base.Codec != api.NoBody {
		if base, err = body.Decode(nil, s.base, s.dictionary, nil); err != nil {
			return nil, s.undecodable(err)
		}
	}
	body, err := body.Decode(nil, s.Envelope.Body(), s.dictionary, base)
	if err != nil {
		return nil, s.undecodable(err)
	}
	json, err := objectjson.SetResourceVersion(nil, body, s.rv)
	if err != nil {
		return nil, s.undecodable(err)
	}
	return opened{s.Envelope, json}, nil
}

func (s *stored) undecodable(err error) error {
	return api.Internal("the body of " + strconv.Quote(strings.Clone(string(s.Key()))) + " cannot be decoded: " + err.Error())
}

// opened is an object with its decoded body. It implements kubeapi.Object.
type opened struct {
	wire.Envelope
	json []byte
}

// JSON implements kubeapi.Object.
func (o opened) JSON() []byte { return o.json }

// orNil converts a status to an error, and a nil status to a nil error.
func orNil(s *api.Status) error {
	if s == nil {
		return nil
	}
	return s
}
