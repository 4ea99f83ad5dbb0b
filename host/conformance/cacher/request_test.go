package cacher

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	genericrequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/storage"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/cacher"
	"github.com/watchglass/watchglass/core/selector"
)

// request is a list or watch request of a client.
type request struct {
	namespace, labels, fields string
	rv                        string
	match                     metav1.ResourceVersionMatch
	limit                     uint32
	next                      string // the continue token
	initial                   *bool
	bookmarks                 bool
	timeout                   uint32 // in seconds
}

func (r *request) String() string {
	initial := "unset"
	if r.initial != nil {
		initial = strconv.FormatBool(*r.initial)
	}
	return fmt.Sprintf("namespace=%q labels=%q fields=%q rv=%q match=%q limit=%d continue=%s sendInitialEvents=%s bookmarks=%v timeout=%d",
		r.namespace, r.labels, r.fields, r.rv, r.match, r.limit, readToken(r.next), initial, r.bookmarks, r.timeout)
}

var matches = map[metav1.ResourceVersionMatch]api.Match{
	"": api.MatchUnset, metav1.ResourceVersionMatchNotOlderThan: api.MatchNotOlderThan, metav1.ResourceVersionMatchExact: api.MatchExact,
}

func (r *request) watchOptions() (cacher.WatchOptions, *api.Status) {
	selection, refused := selector.Limits{}.Parse(r.labels, r.fields)
	initial := api.Unset
	if r.initial != nil {
		if initial = api.False; *r.initial {
			initial = api.True
		}
	}
	return cacher.WatchOptions{
		Namespace: r.namespace, Selection: selection,
		ResourceVersion: r.rv, Match: matches[r.match], SendInitialEvents: initial, Bookmarks: r.bookmarks,
		TimeoutSeconds: r.timeout,
	}, refused
}

func (r *request) listOptions() (cacher.ListOptions, *api.Status) {
	selection, refused := selector.Limits{}.Parse(r.labels, r.fields)
	return cacher.ListOptions{
		Namespace: r.namespace, Selection: selection,
		ResourceVersion: r.rv, Match: matches[r.match], Limit: r.limit, Continue: r.next,
	}, refused
}

// storageOptions processes a request as the REST layer of kube-apiserver does. It parses
// the request, sets defaults, validates, and returns the storage key.
func (w *world) storageOptions(r *request, watch bool) (ctx context.Context, key string, opts storage.ListOptions, err error) {
	ctx = context.WithValue(context.Background(), fromReader{}, true)
	asked := internalversion.ListOptions{
		ResourceVersion: r.rv, ResourceVersionMatch: r.match, SendInitialEvents: r.initial,
		Limit: int64(r.limit), Continue: r.next, AllowWatchBookmarks: r.bookmarks, Watch: watch,
	}
	if asked.LabelSelector, err = labels.Parse(r.labels); err != nil {
		return ctx, "", opts, apierrors.NewBadRequest(err.Error())
	}
	if asked.FieldSelector, err = fields.ParseSelector(r.fields); err != nil {
		return ctx, "", opts, apierrors.NewBadRequest(err.Error())
	}
	internalversion.SetListOptionsDefaults(&asked, true)
	if list := validation.ValidateListOptions(&asked, true); len(list) > 0 {
		return ctx, "", opts, apierrors.NewInvalid(schema.GroupKind{Kind: "ListOptions"}, "", list)
	}
	opts = storage.ListOptions{
		ResourceVersion: asked.ResourceVersion, ResourceVersionMatch: asked.ResourceVersionMatch,
		SendInitialEvents: asked.SendInitialEvents, Recursive: true,
		Predicate: storage.SelectionPredicate{
			Label: asked.LabelSelector, Field: asked.FieldSelector, GetAttrs: attributes,
			Limit: asked.Limit, Continue: asked.Continue, AllowWatchBookmarks: asked.AllowWatchBookmarks,
		},
	}
	if watch {
		opts.ResourceVersionMatch = "" // the registry does not forward this field
	}
	key = strings.TrimSuffix(prefix, "/")
	namespace := r.namespace
	if namespace == "" && w.namespaced {
		namespace, _ = opts.Predicate.MatchesSingleNamespace()
	}
	if namespace != "" {
		key = prefix + namespace
	}
	if namespace != "" || !w.namespaced {
		if name, ok := opts.Predicate.MatchesSingle(); ok && name != "" {
			key, opts.Recursive = key+"/"+name, false
		}
	}
	return genericrequest.WithNamespace(ctx, namespace), key, opts, nil
}

// pins reports whether the field selector names the only namespace or object that can
// match. The library reads only this namespace or object. core/cacher also reads other
// objects, so its last page may be empty.
func (r *request) pins() bool {
	selector, err := fields.ParseSelector(r.fields)
	if err != nil {
		return false
	}
	_, name := selector.RequiresExactMatch("metadata.name")
	_, namespace := selector.RequiresExactMatch("metadata.namespace")
	return name || namespace
}

// token is the content of a continue token. The library and core/cacher write the fields in
// this order. core/cacher refuses tokens with another order.
type token struct {
	Version string `json:"v"`
	RV      int64  `json:"rv"`
	Start   string `json:"start"`
}

// readToken formats the version and start key of a continue token, without the leading
// slash of the key.
func readToken(text string) string {
	if text == "" {
		return ""
	}
	var token token
	data, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		err = json.Unmarshal(data, &token)
	}
	if err != nil {
		return fmt.Sprintf("%q", text)
	}
	return fmt.Sprintf("%d %q", token.RV, strings.TrimPrefix(token.Start, "/"))
}

func makeToken(rv int64, start string) string {
	data, err := json.Marshal(token{"meta.k8s.io/v1", rv, start})
	if err != nil {
		panic(err)
	}
	return base64.RawURLEncoding.EncodeToString(data)
}

// refusal formats an error as its code and reason. For 410 and 504, it adds the message,
// which describes the state of the cache.
func refusal(code int, reason, message string) string {
	text := fmt.Sprintf("%d %s", code, reason)
	if code == 410 || code == 504 {
		text += ": " + message
	}
	return text
}

// sameRefusal reports whether two errors are equal. If a selector is invalid, any two
// errors are equal, because each side may report a different error in the request.
func (r *request) sameRefusal(theirs, ours string) bool {
	_, err := labels.Parse(r.labels)
	_, fieldErr := fields.ParseSelector(r.fields)
	if err != nil || fieldErr != nil {
		return theirs != "" && ours != ""
	}
	return theirs == ours
}

func ourRefusal(s *api.Status) string { return refusal(s.Code, string(s.Reason), s.Message) }

func theirRefusal(err error) string {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return "500 " + err.Error()
	}
	return statusRefusal(status.Status())
}

func statusRefusal(s metav1.Status) string { return refusal(int(s.Code), string(s.Reason), s.Message) }
