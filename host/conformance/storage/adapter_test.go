package storage

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/apis/example"
	"k8s.io/apiserver/pkg/features"
	upstream "k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/cacher/delegator"
	suites "k8s.io/apiserver/pkg/storage/testing"
	utilfeature "k8s.io/apiserver/pkg/util/feature"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/host/client"
)

// adapter is Kubernetes' store on etcd, except that the module serves reads and watches.
type adapter struct {
	upstream.Interface
	t          *testing.T
	namespaced bool
	onRequest  bool // the source reports progress only on request
	etcd       *clientv3.Client
	recorder   *suites.KubernetesRecorder

	mu   sync.Mutex
	pods *client.Collection
}

// restart replaces the connector and the module, so that reads continue with an empty
// history.
func (a *adapter) restart() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.pods = a.open()
}

func (a *adapter) collection() *client.Collection {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.pods
}

const resourcePrefix = "/pods/"

// scope is the part of the resource that a storage key selects: all namespaces or one, and
// either all objects or the one that the field selectors name.
type scope struct {
	namespace string
	fields    []string
}

// nothing is a selector that matches no object, because every object has a name.
const nothing = "metadata.name="

// scope returns the scope of a storage key, by the rules of the storage layer (C20).
func (a *adapter) scope(key string, recursive bool) (scope, error) {
	rest, err := checkKey(key, recursive)
	if err != nil {
		return scope{}, err
	}
	var s scope
	name := rest
	if a.namespaced {
		s.namespace, name, _ = strings.Cut(rest, "/")
	}
	switch {
	case recursive && strings.Trim(name, "/") == "":
	case recursive, name == "", strings.Contains(name, "/"), a.namespaced && s.namespace == "":
		s.fields = []string{nothing}
	default:
		s.fields = []string{"metadata.name=" + fields.EscapeValue(name)}
	}
	return s, nil
}

func checkKey(key string, recursive bool) (rest string, err error) {
	switch key {
	case "", "/":
		return "", fmt.Errorf("empty key: %q", key)
	case ".", "..":
		return "", fmt.Errorf("invalid key: %q", key)
	}
	if recursive && !strings.HasSuffix(key, "/") {
		key += "/"
	}
	rest, ok := strings.CutPrefix(key, resourcePrefix)
	if !ok {
		return "", fmt.Errorf("invalid key: %q lacks resource prefix: %q", key, resourcePrefix)
	}
	return rest, nil
}

// selectors returns the selectors of a predicate as text. The field selector also contains
// the fields of the scope.
func (s scope) selectors(p upstream.SelectionPredicate) (label, field string) {
	all := s.fields
	if p.Field != nil && !p.Field.Empty() {
		all = append(all[:len(all):len(all)], p.Field.String())
	}
	if p.Label == nil {
		p.Label = labels.Everything()
	}
	return p.Label.String(), strings.Join(all, ",")
}

// newest returns the current version of etcd, which a consistent read must reach (C36).
func (a *adapter) newest(ctx context.Context) (string, error) {
	rv, err := a.GetCurrentResourceVersion(ctx)
	return strconv.FormatUint(rv, 10), err
}

// GetList implements storage.Interface.
func (a *adapter) GetList(ctx context.Context, key string, opts upstream.ListOptions, out runtime.Object) error {
	s, err := a.scope(key, opts.Recursive)
	if err != nil {
		return err
	}
	if a.passesOn(opts) {
		return a.Interface.GetList(ctx, key, opts, out)
	}
	list, err := a.list(ctx, s, opts)
	if errors.Is(err, api.Expired("")) {
		return a.Interface.GetList(ctx, key, opts, out)
	}
	if err != nil {
		return statusError(err)
	}
	return a.fill(out.(*example.PodList), &list)
}

// passesOn reports whether the library would forward a list to etcd.
func (a *adapter) passesOn(opts upstream.ListOptions) bool {
	if !utilfeature.DefaultFeatureGate.Enabled(features.ListFromCacheSnapshot) {
		result, err := delegator.ShouldDelegateList(opts, delegator.CacheWithoutSnapshots{})
		return err == nil && result.ShouldDelegate && !result.ConsistentRead
	}
	opts.Recursive = true // affects only the legacy exact match
	exact, _, err := upstream.ValidateListOptions(resourcePrefix, a.Versioner(), opts)
	return err == nil && exact > 0 && exact < a.CompactRevision()
}

func (a *adapter) list(ctx context.Context, s scope, opts upstream.ListOptions) (client.List, error) {
	label, field := s.selectors(opts.Predicate)
	o := client.ListOptions{
		Namespace: s.namespace, LabelSelector: label, FieldSelector: field,
		ResourceVersion: opts.ResourceVersion, ResourceVersionMatch: client.ResourceVersionMatch(opts.ResourceVersionMatch),
		Limit: uint32(opts.Predicate.Limit), Continue: opts.Predicate.Continue,
	}
	switch {
	case o.Continue != "":
		if _, rv, err := upstream.DecodeContinue(o.Continue, resourcePrefix); err == nil && rv < 0 {
			if err := a.catchUp(ctx); err != nil {
				return client.List{}, err
			}
		}
	case o.ResourceVersion == "":
		newest, err := a.newest(ctx)
		if err != nil {
			return client.List{}, err
		}
		o.ResourceVersion, o.ResourceVersionMatch = newest, client.NotOlderThan
	}
	return a.collection().List(ctx, o)
}

// catchUp waits until the module has all current data of etcd.
func (a *adapter) catchUp(ctx context.Context) error {
	newest, err := a.newest(ctx)
	if err != nil {
		return err
	}
	_, err = a.collection().List(ctx, client.ListOptions{
		FieldSelector: nothing, ResourceVersion: newest, ResourceVersionMatch: client.NotOlderThan, MetadataOnly: true,
	})
	return err
}

func (a *adapter) fill(out *example.PodList, list *client.List) error {
	out.Items = make([]example.Pod, len(list.Items))
	for i, o := range list.Items {
		pod, err := decode(o)
		if err != nil {
			return err
		}
		out.Items[i] = *pod
	}
	var remaining *int64
	if n := int64(list.Remaining); n > 0 {
		remaining = &n
	}
	return a.Versioner().UpdateList(out, uint64(list.ResourceVersion), list.Continue, remaining)
}

func decode(o client.Object) (*example.Pod, error) {
	pod, err := runtime.Decode(codec, o.JSON())
	if err != nil {
		return nil, err
	}
	return pod.(*example.Pod), nil
}

// Get implements storage.Interface.
func (a *adapter) Get(ctx context.Context, key string, opts upstream.GetOptions, out runtime.Object) error {
	s, err := a.scope(key, false)
	if err != nil {
		return err
	}
	list, err := a.list(ctx, s, upstream.ListOptions{ResourceVersion: opts.ResourceVersion})
	if err != nil {
		return statusError(err)
	}
	pod := &example.Pod{}
	switch {
	case len(list.Items) == 1:
		if pod, err = decode(list.Items[0]); err != nil {
			return err
		}
	case opts.ResourceVersion == "":
		return a.unknown(ctx, key, opts, out)
	case !opts.IgnoreNotFound:
		return upstream.NewKeyNotFoundError(key, int64(list.ResourceVersion))
	}
	*out.(*example.Pod) = *pod
	return nil
}

// unknown reads from etcd an object that the module does not have. It fails the test if
// etcd has a valid object.
func (a *adapter) unknown(ctx context.Context, key string, opts upstream.GetOptions, out runtime.Object) error {
	err := a.Interface.Get(ctx, key, opts, out)
	if pod := out.(*example.Pod); err == nil && pod.Name != "" {
		a.t.Errorf("etcd has an object at %q, and the module does not", key)
	}
	return err
}

// statusError converts the module's errors to errors of Kubernetes (C9).
func statusError(err error) error {
	s := new(api.Status)
	if !errors.As(err, &s) {
		return err
	}
	details := &metav1.StatusDetails{RetryAfterSeconds: int32(s.RetryAfterSeconds)}
	if s.Cause != "" {
		details.Causes = []metav1.StatusCause{{Type: metav1.CauseType(s.Cause), Message: s.Message}}
	}
	if s.Code == 0 {
		s.Code = http.StatusInternalServerError
	}
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: int32(s.Code), Reason: metav1.StatusReason(s.Reason), Message: s.Message,
		Details: details, ListMeta: metav1.ListMeta{Continue: s.Continue},
	}}
}
