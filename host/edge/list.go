package edge

import (
	"context"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/wire"
	"github.com/watchglass/watchglass/host/kubeapi"
)

// List implements kubeapi.Backend. If a list has no limit, the Durable Object sends it in
// pages of the same version.
func (b *backend) List(ctx context.Context, resource api.Resource, o kubeapi.ListOptions) (*kubeapi.List, error) {
	object, status := b.cluster.objectFor(resource.String(), o.Namespace)
	if status != nil {
		return nil, status
	}
	all := o.InPages(pageSize)
	frame := wire.List{
		Namespace: o.Namespace, LabelSelector: o.Selection.Labels.String(), FieldSelector: o.Selection.Fields.String(),
		ResourceVersion: o.ResourceVersion, Match: o.Match, Limit: o.Limit, Continue: o.Continue, Bodies: true,
	}
	query := command(resource, frame.Append(nil))
	if all {
		query.Set("all", "true")
	}
	r, err := b.request(ctx, object, "command", query)
	if err != nil {
		return nil, err
	}
	var first wire.ListReply
	if err := r.expect(wire.TypeListReply, &first); err != nil {
		r.Close()
		return nil, unanswered(r.object, broken(err))
	}
	list := &kubeapi.List{ResourceVersion: first.ResourceVersion}
	if !all {
		list.Continue, list.Remaining = first.Continue, first.Remaining
	}
	list.Items = func(yield func(kubeapi.Object, error) bool) {
		defer r.Close()
		r.items(&first, !all, yield)
	}
	return list, nil
}

// items yields the objects of the given page and, unless last is true, of the following
// pages.
func (r *reply) items(page *wire.ListReply, last bool, yield func(kubeapi.Object, error) bool) {
	for {
		for i := range page.Items {
			if o, err := open(page.Items[i]); !yield(o, err) || err != nil {
				return
			}
		}
		if last || page.Continue == "" {
			return
		}
		page = &wire.ListReply{}
		if err := r.expect(wire.TypeListReply, page); err != nil {
			yield(nil, unanswered(r.object, broken(err)))
			return
		}
	}
}
