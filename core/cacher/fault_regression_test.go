package cacher_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/cacher"
	"github.com/watchglass/watchglass/core/coretest/objects"
)

// A relist that cannot read the newest version of an object keeps the last good one.
func TestC53_RelistKeepsTheLastGoodVersionOfAFaultyObject(t *testing.T) {
	c := cacher.New(cacher.Config{Schema: objects.Pods()})
	c.Listing().Begin()
	c.Listing().Object(objects.Update("default/a rv=3"))
	c.Listing().End(5, 1)
	c.Listing().Begin()
	c.Fault("default/a", 8, api.Invalid("garbage"), 2)
	c.Listing().End(9, 2)
	require.EqualValues(t, 3, c.Arena().ResourceVersion(c.State().Get("default/a")))
	require.Equal(t, 1, c.State().Len())
	list, _ := c.Faults()
	require.Len(t, list, 1)
}

// Deleting an object that was never readable retracts its fault, and readers are
// notified.
func TestC53_DeletionOfAFaultyObjectIsReported(t *testing.T) {
	c := cacher.New(cacher.Config{Schema: objects.Pods()})
	c.Listing().Begin()
	c.Listing().End(5, 1)
	c.Fault("default/a", 6, api.Invalid("garbage"), 2)
	_, before := c.Faults()
	c.Delete("default/a", 7, 3)
	list, mark := c.Faults()
	require.Greater(t, mark, before)
	require.Equal(t, 404, list[0].Status.Code)
}

// A connector that never had a good version of a faulty object reports the object's
// deletion by retracting the fault. Readers with an older good version remove that
// version.
func TestC53_RetractedFaultRemovesTheLastGoodVersion(t *testing.T) {
	c := cacher.New(cacher.Config{Schema: objects.Pods()})
	c.Listing().Begin()
	c.Listing().Object(objects.Update("default/a rv=3"))
	c.Listing().Object(objects.Update("default/b rv=4"))
	c.Listing().End(5, 1)
	c.Fault("default/a", 6, api.Invalid("garbage"), 2)
	c.Fault("default/a", 8, api.NotFound("it was deleted"), 3)
	c.Progress(7, 4)
	require.Equal(t, 2, c.State().Len(), "the deletion has version 8")
	c.Apply(objects.Update("default/b rv=9"), 5)
	c.Progress(9, 5)
	require.Zero(t, c.State().Get("default/a"))
	require.EqualValues(t, 9, c.ResourceVersion())
	last := c.Window().At(c.Window().End() - 1)
	require.EqualValues(t, 9, last.ResourceVersion, "later than the previous mark")
	require.Zero(t, last.Current)

	c.Listing().Begin()
	c.Listing().Object(objects.Update("default/b rv=9"))
	c.Fault("default/b", 12, api.NotFound("it was deleted"), 6)
	c.Listing().End(20, 6)
	require.NotZero(t, c.State().Get("default/b"), "the first list contains it")
	c.Listing().Begin()
	c.Fault("default/b", 25, api.NotFound("it was deleted"), 7)
	c.Listing().End(30, 7)
	require.Zero(t, c.State().Get("default/b"), "the second list does not")
}

// If a faulty object is replaced by a version that does not match a selector,
// readers with that selector remove their last good version.
func TestC53_ReplacementOfAFaultyObjectIsReported(t *testing.T) {
	c := cacher.New(cacher.Config{Schema: objects.Pods()})
	c.Listing().Begin()
	c.Fault("default/a", 4, api.Invalid("garbage"), 1)
	c.Listing().End(5, 1)
	_, before := c.Faults()
	c.Apply(objects.Update("default/a rv=7"), 3)
	list, mark := c.Faults()
	require.Greater(t, mark, before)
	require.Equal(t, 404, list[0].Status.Code)
	require.EqualValues(t, 7, list[0].ResourceVersion)
	c.Progress(8, 4)
	require.NotZero(t, c.State().Get("default/a"))
	c.Apply(objects.Update("default/a rv=9"), 5)
	list, _ = c.Faults()
	require.Len(t, list, 1, "the fault is still reported to new readers")
}

// The last good version of an object is not kept when another source replaces the state.
func TestC53_AnotherSourceHasNoLastGoodVersions(t *testing.T) {
	c := cacher.New(cacher.Config{Schema: objects.Pods()})
	c.Upstream().SetClusterID("one")
	c.Listing().Begin()
	c.Listing().Object(objects.Update("default/a rv=3"))
	c.Listing().End(5, 1)
	c.Upstream().SetClusterID("two")
	c.Listing().Begin()
	c.Fault("default/a", 8, api.Invalid("garbage"), 2)
	c.Listing().End(9, 2)
	require.Zero(t, c.State().Get("default/a"))
	c.Listing().Begin()
	c.Listing().Object(objects.Update("default/a rv=10"))
	c.Listing().End(10, 3)
	c.Listing().Begin()
	c.Fault("default/a", 11, api.Invalid("garbage"), 2)
	c.Listing().End(12, 2)
	require.NotZero(t, c.State().Get("default/a"))
}

// A connector that lags may list an older last good version of a faulty object.
// The newer current version stays.
func TestC53_ListKeepsNewerVersionOfAFaultyObject(t *testing.T) {
	c := cacher.New(cacher.Config{Schema: objects.Pods()})
	c.Upstream().SetClusterID("one")
	c.Listing().Begin()
	c.Listing().Object(objects.Update("default/a rv=25"))
	c.Listing().Object(objects.Update("default/b rv=3"))
	c.Listing().End(30, 1)
	c.Listing().Begin()
	c.Fault("default/a", 47, api.Invalid("garbage"), 2)
	c.Listing().Object(objects.Update("default/a rv=14"))
	c.Listing().Object(objects.Update("default/b rv=3"))
	c.Listing().End(48, 2)
	require.EqualValues(t, 25, c.Arena().ResourceVersion(c.State().Get("default/a")))

	c.Upstream().SetClusterID("two")
	c.Listing().Begin()
	c.Listing().Object(objects.Update("default/a rv=14"))
	c.Listing().End(50, 3)
	require.EqualValues(t, 14, c.Arena().ResourceVersion(c.State().Get("default/a")), "versions of another history are unrelated")
}

// An object that was deleted and recreated with an unreadable version has no last good
// version, even if the connector missed the deletion.
func TestC53_DeletedObjectHasNoLastGoodVersion(t *testing.T) {
	unreadable := api.Internal("the object cannot be decoded")
	for _, c := range []struct {
		why   string
		fault bool
		rv    api.ResourceVersion
		shown bool
	}{
		{"it was deleted before version 10", true, 12, false},
		{"it can be read by now, in the version it had", false, 12, true},
		{"the state goes back to where it was there", true, 8, true},
	} {
		w := cacher.New(cacher.Config{Schema: objects.Pods()})
		w.Listing().Begin()
		w.Listing().Object(objects.Update("ns/b rv=1"))
		w.Listing().End(10, 1000)
		w.Listing().Begin()
		w.Listing().Object(objects.Update("ns/a rv=5"))
		w.Listing().Object(objects.Update("ns/b rv=1"))
		if c.fault {
			w.Fault("ns/a", 11, unreadable, 1000)
		}
		w.Listing().End(c.rv, 1000)
		require.Equal(t, c.shown, w.State().Get("ns/a") != 0, c.why)
		require.NotZero(t, w.State().Get("ns/b"), c.why)
	}
}
