package view_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/cacher"
	"github.com/watchglass/watchglass/core/coretest/objects"
	"github.com/watchglass/watchglass/core/view"
	"github.com/watchglass/watchglass/core/wire"
)

func created(name string, rv int, at int64) api.Object {
	o := objects.Object(fmt.Sprintf("a/%s rv=%d", name, rv))
	o.Columns[3] = api.Value{Kind: api.Date, Int: at}
	return o
}

func TestViewRowsLeaveAndEnterAsTheyAge(t *testing.T) {
	c := cacher.New(cacher.Config{Schema: objects.Pods()})
	c.Listing().Begin()
	c.Listing().Object(put(created("old", 1, 1_000)))
	c.Listing().Object(put(created("new", 1, 50_000)))
	c.Listing().End(1, 1)
	young, status := view.New(c, &wire.OpenView{Where: "created<1m", Limit: 10}, 60_500)
	require.Nil(t, status)
	aged, status := view.New(c, &wire.OpenView{Where: "created>=1m", Limit: 10}, 60_500)
	require.Nil(t, status)
	ofYoung, ofAged := &client{}, &client{}
	ofYoung.apply(t, young)
	ofAged.apply(t, aged)
	require.Equal(t, []string{"a/new@1", "a/old@1"}, ofYoung.rows)
	require.Empty(t, ofAged.rows)
	require.EqualValues(t, 61_000, young.NextTick())

	young.Tick(60_999)
	require.False(t, ofYoung.apply(t, young), "nothing has aged")
	for _, v := range []*view.View{young, aged} {
		v.Tick(61_000)
	}
	require.True(t, ofYoung.apply(t, young))
	require.True(t, ofAged.apply(t, aged))
	require.Equal(t, []string{"a/new@1"}, ofYoung.rows)
	require.Equal(t, []string{"a/old@1"}, ofAged.rows)

	c.Delete("a/new", 2, 2)
	young.Tick(200_000)
	require.True(t, ofYoung.apply(t, young))
	require.Empty(t, ofYoung.rows)
	require.Zero(t, young.NextTick())
}

// After any changes, a view with ages has the same rows as a newly opened view.
func TestViewWithAgesAgreesWithANewView(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 9))
		c := cacher.New(cacher.Config{Schema: objects.Pods()})
		c.Listing().Begin()
		c.Listing().End(1, 1)
		now := int64(100_000)
		q := wire.OpenView{Where: "created<20s or created>=1m and created<=70s", Sort: "-created,name", Facets: []wire.Facet{{By: "created"}}, Limit: 100}
		v, status := view.New(c, &q, now)
		require.Nil(t, status)
		shown := &client{}
		for rv := 2; rv < 300; rv++ {
			switch n := r.IntN(10); {
			case n < 4:
				c.Apply(put(created(fmt.Sprintf("p%d", r.IntN(20)), rv, now-r.Int64N(80_000))), int64(rv))
			case n < 5:
				c.Delete(api.Key(fmt.Sprintf("a/p%d", r.IntN(20))), api.ResourceVersion(rv), int64(rv))
			case n < 8:
				now += r.Int64N(3000)
				v.Tick(now)
			default:
				now = max(now, v.NextTick())
				v.Tick(now)
				fresh, status := view.New(c, &q, now)
				require.Nil(t, status)
				want := &client{}
				want.apply(t, fresh)
				fresh.Close()
				shown.apply(t, v)
				require.Equal(t, want.rows, shown.rows)
				require.Equal(t, want.total, shown.total)
				require.Equal(t, want.counts, shown.counts)
			}
		}
	}
}
