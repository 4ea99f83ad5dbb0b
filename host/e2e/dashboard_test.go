package e2e

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

// evaluate runs JavaScript in the page and waits for its result.
func evaluate[T any](page context.Context, expression string) (T, error) {
	return chromedp.Run(page, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
}

func mustEvaluate[T any](t *testing.T, page context.Context, expression string) T {
	t.Helper()
	v, err := evaluate[T](page, expression)
	require.NoError(t, err)
	return v
}

// waitFor waits until a JavaScript expression is true in the page.
func waitFor(t *testing.T, page context.Context, expression string) {
	t.Helper()
	yes := func() bool {
		ok, err := evaluate[bool](page, "!!("+expression+")")
		return err == nil && ok
	}
	if assert.Eventually(t, yes, within, 50*time.Millisecond, "the page never showed "+expression) {
		return
	}
	shown, err := evaluate[string](page, `document.body.innerText.slice(0, 500)`)
	require.FailNow(t, "the page shows:", "%s (%v)", shown, err)
}

func state(name string) string {
	return fmt.Sprintf(`document.getElementById("pill").dataset.state === %q`, name)
}

func total(n int) string {
	return fmt.Sprintf(`document.querySelector("[data-total]")?.dataset.total === "%d"`, n)
}

// table returns the objects of the page, as "namespace/name@resourceVersion". It lists in
// pages, because one list of 10,000 objects occupies the worker for 20 s on a busy machine.
func table(page context.Context) ([]string, error) {
	return evaluate[[]string](page, `(async () => {
		const objects = [];
		let token = "";
		do {
			const list = await watchglassDashboard.collection.list({ limit: 500, continue: token });
			objects.push(...list.items.map((o) => o.metadata.namespace + "/" + o.metadata.name + "@" + o.metadata.resourceVersion));
			token = list.continue;
		} while (token);
		return objects;
	})()`)
}

// window returns the rows that the page's view shows, each as "key@resourceVersion", like
// the function table.
func window(t *testing.T, page context.Context) []string {
	t.Helper()
	return mustEvaluate[[]string](t, page, `watchglassDashboard.snapshot.rows.map((r) => r.key + "@" + r.resourceVersion)`)
}

// exact waits until the page has exactly the pods in etcd, at the same versions.
func exact(t *testing.T, page context.Context, c *cluster) {
	t.Helper()
	want := c.pods(t)
	require.NotEmpty(t, want)
	waitFor(t, page, total(len(want)))
	require.EventuallyWithT(t, func(t *assert.CollectT) {
		got, err := table(page)
		require.NoError(t, err)
		require.True(t, slices.Equal(want, got), "the page has %d objects, etcd has %d", len(got), len(want))
	}, within, 200*time.Millisecond, "the page does not have the pods of etcd")
	shown := window(t, page)
	require.NotEmpty(t, shown)
	require.Subset(t, want, shown, "the table shows a row that etcd does not have")
}

// A page with ten thousand pods survives a killed server. The test kills the server during
// changes, and restarts it when the page is stale. Before the restart, the test compacts
// etcd, so the page cannot resume. Afterwards, the page again shows the state of etcd.
func TestDashboard_survives_a_killed_server(t *testing.T) {
	const pods = 10_000
	c := startCluster(t, pods)
	address := freeAddress(t)
	server := startServer(t, c, address)
	page := openPage(t, "http://"+address+"/")
	waitFor(t, page, state("live"))
	exact(t, page, c)

	c.churn(t, 500)
	server.kill()
	waitFor(t, page, state("reconnecting"))
	c.churn(t, 500)
	c.compact(t)
	waitFor(t, page, state("stale"))
	require.NotEmpty(t, window(t, page), "the rows stay while the data is stale")

	startServer(t, c, address)
	waitFor(t, page, state("live"))
	c.churn(t, 200)
	exact(t, page, c)
}

// After a broken connection, the page resumes by resource version, without a relist.
func TestDashboard_resumes_after_a_cut(t *testing.T) {
	c := startCluster(t, 500)
	address := freeAddress(t)
	startServer(t, c, address)
	p := startProxy(t, address)
	page := openPage(t, "http://"+p.listen.Addr().String()+"/")
	waitFor(t, page, state("live"))
	exact(t, page, c)
	before := counters(t, page)

	p.cut(true)
	waitFor(t, page, state("reconnecting"))
	c.churn(t, 300)
	p.cut(false)
	waitFor(t, page, state("live"))
	exact(t, page, c)
	after := counters(t, page)
	require.Equal(t, before["relists"], after["relists"], "the reader listed again")
	require.Greater(t, after["resumes"], before["resumes"])
}

// counters returns the engine's numbers of relists and resumes, summed over the
// collections of the page.
func counters(t *testing.T, page context.Context) map[string]int {
	t.Helper()
	all := mustEvaluate[map[string]int](t, page, `watchglassDashboard.connection.inspect()`)
	sum := map[string]int{}
	for name, n := range all {
		for _, counter := range []string{"relists", "resumes"} {
			if strings.HasSuffix(name, "."+counter) {
				sum[counter] += n
			}
		}
	}
	return sum
}
