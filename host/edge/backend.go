package edge

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/catalog"
	"github.com/watchglass/watchglass/core/wire"
	"github.com/watchglass/watchglass/host/kubeapi"
	"github.com/watchglass/watchglass/host/source"
)

const (
	// Root is the path prefix of the requests to a Durable Object, for example "/backend/schemas".
	Root = "/backend/"
	// pageSize is the number of Kubernetes objects per page from a Durable Object. Larger
	// pages need more memory in the Durable Object, whose memory never shrinks.
	pageSize = 500
	// grantHeader carries the rights of a request to a Durable Object; see js/src/edge/grant.ts.
	grantHeader = "X-Watchglass-Grant"
	// maxRefusal is the maximum size of an error response of a Durable Object.
	maxRefusal = 64 << 10
)

// NewBackend returns a backend for the Durable Objects of one cluster. The parameter object
// is a function that returns the transport to the Durable Object with the given name.
// Request URLs begin with "http://object/", regardless of the name. The backend is safe for
// concurrent use if that function is.
func NewBackend(cluster string, spread Cluster, object func(name string) http.RoundTripper) kubeapi.Backend {
	return &backend{cluster, spread, object}
}

type backend struct {
	name    string
	cluster Cluster
	object  func(name string) http.RoundTripper
}

// reply is the response of a Durable Object, a stream of frames.
type reply struct {
	object string
	body   io.Closer
	*frames
}

func (r *reply) Close() { _ = r.body.Close() } // the caller has read the response, or no longer needs it

// fetch sends a request to an object of the cluster. The request grants everything,
// because the caller has authorized the client.
func (b *backend) fetch(ctx context.Context, object, path string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://object"+path, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set(grantHeader, fmt.Sprintf(`{"resources":["*"],"namespaces":["*"],"expires":%d,"cluster":%q,"user":"edge"}`,
		time.Now().Add(time.Minute).Unix(), b.name))
	object = objectName(b.name, object)
	response, err := b.object(object).RoundTrip(request)
	if err != nil {
		return nil, unanswered(object, err)
	}
	if response.StatusCode != http.StatusOK {
		return nil, refusal(object, response)
	}
	return response, nil
}

// request sends a request to an object.
func (b *backend) request(ctx context.Context, object, path string, query url.Values) (*reply, error) {
	response, err := b.fetch(ctx, object, Root+path+"?"+query.Encode())
	if err != nil {
		return nil, err
	}
	return &reply{objectName(b.name, object), response.Body, newFrames(response.Body)}, nil
}

// command returns the query of a request that sends a command frame to the collection
// of a resource.
func command(resource api.Resource, frame []byte) url.Values {
	return url.Values{"resource": {resource.String()}, "command": {base64.RawURLEncoding.EncodeToString(frame)}}
}

// refusal returns the Status in an object's error response, or a 503 if the response
// contains none.
func refusal(object string, response *http.Response) *api.Status {
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxRefusal))
	if err != nil {
		return unanswered(object, err)
	}
	var body struct {
		Code     int
		Reason   api.Reason
		Message  string
		Metadata struct{ Continue string }
		Details  struct {
			RetryAfterSeconds int
			Causes            []struct{ Reason string }
		}
	}
	if err := json.Unmarshal(text, &body); err != nil || body.Code != response.StatusCode {
		return unanswered(object, fmt.Errorf("HTTP %d: %q", response.StatusCode, text))
	}
	status := &api.Status{
		Code: body.Code, Reason: body.Reason, Message: body.Message,
		RetryAfterSeconds: body.Details.RetryAfterSeconds, Continue: body.Metadata.Continue,
	}
	if len(body.Details.Causes) > 0 {
		status.Cause = body.Details.Causes[0].Reason
	}
	return status
}

// unanswered returns the status for a failure of an object, or of the connection to the
// object. The status tells the client to retry after a second.
func unanswered(object string, err error) *api.Status {
	status := api.Unavailable("the edge object " + object + " returned an invalid response: " + err.Error())
	status.RetryAfterSeconds = 1
	return status
}

// Resources implements kubeapi.Backend. It returns the resources of all groups. All
// objects of a group have the same resources, so Resources queries only the first object.
func (b *backend) Resources(ctx context.Context) ([]kubeapi.Resource, error) {
	var all []kubeapi.Resource
	known := map[api.Resource]bool{}
	for _, group := range b.cluster.groups() {
		schemas, err := b.schemas(ctx, group.object(0), "")
		if err != nil {
			return nil, err
		}
		for i := range schemas {
			if resource := schemas[i].Resource; !known[resource] {
				known[resource] = true
				all = append(all, kubeapi.Resource(source.Describe(&schemas[i])))
			}
		}
	}
	return all, nil
}

// schemas requests the schema of one resource from an object, or the schemas of all its
// resources if resource is empty.
func (b *backend) schemas(ctx context.Context, object, resource string) ([]api.Schema, error) {
	query := url.Values{}
	if resource != "" {
		query.Set("resource", resource)
	}
	r, err := b.request(ctx, object, "schemas", query)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	var all []api.Schema
	for {
		var frame wire.CollectionSchema
		err := r.expect(wire.TypeCollectionSchema, &frame)
		if err == io.EOF {
			return all, nil
		}
		if err != nil {
			return nil, unanswered(r.object, err)
		}
		all = append(all, frame.Schema)
	}
}

// Schema implements kubeapi.Backend.
func (b *backend) Schema(ctx context.Context, resource api.Resource) (*api.Schema, error) {
	group, status := b.cluster.find(resource.String())
	if status != nil {
		return nil, status
	}
	schemas, err := b.schemas(ctx, group.object(0), resource.String())
	if err != nil {
		return nil, err
	}
	return catalog.Lookup(schemas, resource)
}

// Get implements kubeapi.Backend. The engine's command Get accepts no minimum version, so
// a request with a version uses GetNotOlder instead.
func (b *backend) Get(ctx context.Context, resource api.Resource, key api.Key, version string) (kubeapi.Object, error) {
	object, status := b.cluster.objectFor(resource.String(), key.Namespace())
	if status != nil {
		return nil, status
	}
	if version != "" && version != "0" {
		return kubeapi.GetNotOlder(ctx, b, resource, key, version)
	}
	get := wire.Get{Key: key}
	r, err := b.request(ctx, object, "command", command(resource, get.Append(nil)))
	if err != nil {
		return nil, err
	}
	defer r.Close()
	var frame wire.ObjectReply
	if err := r.expect(wire.TypeObjectReply, &frame); err != nil {
		return nil, unanswered(r.object, broken(err))
	}
	return open(frame.Item)
}

// object implements kubeapi.Object.
type object struct{ wire.Envelope }

// JSON implements kubeapi.Object.
func (o object) JSON() []byte { return o.Body().Data }

// open returns the object of an item, or an error if the engine could not decode the body.
func open(item wire.Item) (kubeapi.Object, error) {
	if item.Envelope.Body().Codec != api.JSON {
		return nil, api.Internal("the body of " + strconv.Quote(string(item.Envelope.Key())) + " cannot be decoded")
	}
	return object{item.Envelope}, nil
}
