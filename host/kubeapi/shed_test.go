package kubeapi_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"

	"github.com/watchglass/watchglass/host/kubeapi"
	"github.com/watchglass/watchglass/host/limit"
)

func TestShedEndsTheNewestWatchesOfTheHeaviestClient(t *testing.T) {
	rules := &book{rights: map[string][]string{"ann": {"*"}, "ben": {"*"}}}
	limits := limit.NewSet()
	run(t, kubeapi.Config{Access: rules, Limits: limits}, func(t *testing.T, w *world) {
		watch := func(user string) *watching {
			w.header.Set("Authorization", "Bearer "+user)
			return w.watch("/api/v1/pods?watch=1&resourceVersion=1")
		}
		ben := watch("ben")
		first, second, third := watch("ann"), watch("ann"), watch("ann")
		assert.Equal(t, 4, w.handler.Count())
		w.handler.Shed(2)
		third.ends()
		w.handler.Shed(2)
		second.ends()
		w.handler.Shed(2)
		synctest.Wait()
		assert.Equal(t, 2, w.handler.Count())
		assert.EqualValues(t, 2, limits.Refusals(limit.MaxMemory))
		w.put("a/x", "web")
		assert.Equal(t, "ADDED x 2", first.formatNext())
		assert.Equal(t, "ADDED x 2", ben.formatNext())
		first.close()
		ben.close()
		synctest.Wait()
		assert.Zero(t, w.handler.Count())
	})
}
