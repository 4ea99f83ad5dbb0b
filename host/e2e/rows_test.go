package e2e

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/host/internal/slowlink"
)

// shown is the state of the page when its table was complete.
type shown struct {
	State   string
	Objects int
	Bodies  int
	Rows    []string // keys of the rows in the window
	Counted int      // number of rows in the counts by value
	Facet   string   // the counted column
}

// whenComplete is the format of a script that records the state of the page when the table
// first shows the given total, in the same browser task. The script runs before the scripts
// of the page.
const whenComplete = `globalThis.complete = new Promise((resolve) => {
	const look = () => {
		if (document.querySelector("[data-total]")?.dataset.total !== "%d") return false;
		const d = watchglassDashboard;
		const [facet, counts] = Object.entries(d.snapshot.facets)[0];
		const counted = counts.values.reduce((sum, [, rows]) => sum + rows, counts.otherRows);
		const rows = d.snapshot.rows.map((row) => row.key);
		resolve({ state: d.status.state, objects: d.progress.objects, bodies: d.progress.bodies, rows, counted, facet });
		return true;
	};
	const observer = new MutationObserver(() => look() && observer.disconnect());
	observer.observe(document, { subtree: true, childList: true, attributes: true });
})`

// Over a slow link, the table is complete, sorted and counted before all bodies have
// arrived. The test compares the order of events, not times.
func TestDashboard_shows_all_rows_before_bodies(t *testing.T) {
	const pods = 50_000
	c := startCluster(t, pods)
	address := freeAddress(t)
	startServer(t, c, address)
	p, err := slowlink.Forward(address, 20_000_000/8, 40*time.Millisecond)
	require.NoError(t, err)
	t.Cleanup(p.Close)
	page := openPage(t, "http://"+p.Addr()+"/#/v1/pods?sort=-name+lexical", fmt.Sprintf(whenComplete, pods))

	s := mustEvaluate[shown](t, page, `complete`)
	t.Logf("%d of %d bodies had arrived", s.Bodies, s.Objects)
	require.Equal(t, "live", s.State)
	require.Equal(t, pods, s.Objects)
	require.Less(t, s.Bodies, s.Objects)
	require.Equal(t, pods, s.Counted, s.Facet)
	require.NotEmpty(t, s.Rows)
	require.Equal(t, lastNames(c.pods(t), len(s.Rows)), s.Rows)

	waitFor(t, page, `watchglassDashboard.progress.bodies === watchglassDashboard.progress.objects`)
	kind := mustEvaluate[string](t, page, `watchglassDashboard.collection.get(watchglassDashboard.snapshot.rows[0].key).then((o) => o.kind)`)
	require.Equal(t, "Pod", kind)
}

// lastNames returns the keys of the n pods whose names sort last, in descending order of
// the names.
func lastNames(pods []string, n int) []string {
	var keys []string
	for _, pod := range pods {
		key, _, _ := strings.Cut(pod, "@")
		keys = append(keys, key)
	}
	name := func(key string) string { return key[strings.IndexByte(key, '/')+1:] }
	slices.SortStableFunc(keys, func(a, b string) int { return cmp.Compare(name(b), name(a)) })
	return keys[:n]
}
