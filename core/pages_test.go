package core

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/wire"
)

// A page of large objects may end before its limit, and the pages together form the
// complete list. A list without a limit has no pages (C40, P16).
func TestP16_pages_of_large_objects_are_shorter(t *testing.T) {
	const objects, limit = 40, 20
	r := newRig(t)
	r.backend.pods.Listing().Begin()
	for i := range objects {
		r.backend.pods.Listing().Object(pod("default/p"+strconv.Itoa(100+i), uint64(i+1), "web", strings.Repeat("x", 100_000)))
	}
	r.backend.pods.Listing().End(100, r.now)
	r.step(&wire.OpenCollection{Collection: 1, Resource: "v1/pods"})
	ask := func(f *wire.List) *wire.ListReply {
		f.Request, f.Collection, f.Bodies = 1, 1, true
		r.seen[wire.TypeListReply] = nil
		r.step(f)
		require.Len(t, r.seen[wire.TypeListReply], 1)
		page := new(wire.ListReply)
		require.NoError(t, page.Parse(r.seen[wire.TypeListReply][0]))
		return page
	}
	require.Len(t, ask(&wire.List{ResourceVersion: "0", Limit: limit}).Items, objects)
	require.Len(t, ask(&wire.List{}).Items, objects)

	selective := &wire.List{LabelSelector: "app=web", Limit: limit}
	for _, question := range []*wire.List{{Limit: limit}, {Limit: limit, Namespace: "default"}, selective} {
		var got []string
		for {
			page := ask(question)
			require.NotEmpty(t, page.Items)
			require.Less(t, len(page.Items), limit)
			for i := range page.Items {
				got = append(got, string(page.Items[i].Envelope.Key()))
			}
			if page.Continue == "" {
				require.Zero(t, page.Remaining)
				break
			}
			if question != selective {
				require.EqualValues(t, objects-len(got), page.Remaining)
			}
			question.Continue = page.Continue
		}
		require.Len(t, got, objects)
		require.IsIncreasing(t, got)
	}
}
