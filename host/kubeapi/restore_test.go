package kubeapi_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/watchglass/watchglass/host/kubeapi"
	"github.com/watchglass/watchglass/host/source/memory"
)

// restore replaces the source with a source that has fewer revisions, as after a restore of
// etcd from a backup.
func (w *world) restore() {
	before := w.source.Source
	w.source.Source = memory.New()
	w.put("a/one", "web")
	before.Fail(errors.New("etcd is being restored"))
}

func TestRestoreOfTheSourceEndsOpenWatchesWith410(t *testing.T) {
	run(t, kubeapi.Config{}, func(t *testing.T, w *world) {
		w.put("a/one", "web")
		w.get("/api/v1/pods")
		w.put("a/two", "web")
		watch := w.watch("/api/v1/pods?watch=1&resourceVersion=2")
		assert.Equal(t, "ADDED two 3", watch.formatNext())
		w.restore()
		assert.Equal(t, "ERROR 410 Expired", watch.formatNext())
		watch.ends()
	})
}

func TestWatchFromAVersionLostInARestoreEndsWith410(t *testing.T) {
	run(t, kubeapi.Config{}, func(t *testing.T, w *world) {
		w.put("a/one", "web")
		w.get("/api/v1/pods")
		w.restore()
		time.Sleep(time.Minute) // virtual time
		begun := time.Now()
		watch := w.watch("/api/v1/pods?watch=1&resourceVersion=71")
		assert.Equal(t, "ERROR 410 Expired", watch.formatNext())
		assert.Less(t, time.Since(begun), 4*time.Second)
		watch.ends()
	})
}

func TestWatchFromAVersionThatArrivesInTimeContinues(t *testing.T) {
	run(t, kubeapi.Config{}, func(t *testing.T, w *world) {
		w.put("a/one", "web")
		w.get("/api/v1/pods")
		watch := w.watch("/api/v1/pods?watch=1&resourceVersion=3")
		defer watch.close()
		time.Sleep(2 * time.Second)
		w.put("a/two", "web")
		w.put("a/two", "api")
		assert.Equal(t, "MODIFIED two 4", watch.formatNext())
		time.Sleep(time.Minute)
		w.put("a/two", "web")
		assert.Equal(t, "MODIFIED two 5", watch.formatNext())
	})
}
