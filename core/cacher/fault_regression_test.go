package cacher_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/cacher"
	"github.com/watchglass/watchglass/core/coretest/objects"
)

// Regression 1: a relist that could not read an object's newest version dropped
// the last good one (C53).
func TestC53_a_relist_keeps_the_last_good_version_of_a_faulty_object(t *testing.T) {
	c := cacher.New(cacher.Config{Schema: objects.Pods()})
	c.BeginList()
	c.ListObject(objects.Put("default/a rv=3"))
	c.EndList(5, 1)
	c.BeginList()
	c.Fault("default/a", 8, api.Invalid("garbage"), 2)
	c.EndList(9, 2)
	require.EqualValues(t, 3, c.Heap().ResourceVersion(c.Get("default/a")))
	require.Equal(t, 1, c.Len())
	list, _ := c.Faults()
	require.Len(t, list, 1)
}

// Regression 2: the deletion of an object that was never good took its fault
// away without a word, and readers showed it for ever.
func TestC53_the_deletion_of_a_faulty_object_is_told(t *testing.T) {
	c := cacher.New(cacher.Config{Schema: objects.Pods()})
	c.BeginList()
	c.EndList(5, 1)
	c.Fault("default/a", 6, api.Invalid("garbage"), 2)
	_, before := c.Faults()
	c.Delete("default/a", 7, 3)
	list, mark := c.Faults()
	require.Greater(t, mark, before)
	require.Equal(t, 404, list[0].Status.Code)
}

// Regression 3: a reader that had an object's last good version kept it when
// the faulty object was deleted, because the connector, which never had a good
// one, could tell that by the fault alone.
func TestC53_a_fault_that_is_taken_back_takes_the_last_good_version_along(t *testing.T) {
	c := cacher.New(cacher.Config{Schema: objects.Pods()})
	c.BeginList()
	c.ListObject(objects.Put("default/a rv=3"))
	c.ListObject(objects.Put("default/b rv=4"))
	c.EndList(5, 1)
	c.Fault("default/a", 6, api.Invalid("garbage"), 2)
	c.Fault("default/a", 8, api.NotFound("it was deleted"), 3)
	c.Progress(7, 4)
	require.Equal(t, 2, c.Len(), "the deletion is at 8")
	c.Apply(objects.Put("default/b rv=9"), 5)
	c.Progress(9, 5)
	require.Zero(t, c.Get("default/a"))
	require.EqualValues(t, 9, c.ResourceVersion())
	last := c.Window().At(c.Window().End() - 1)
	require.EqualValues(t, 9, last.ResourceVersion, "later than what came before it")
	require.Zero(t, last.Current)

	c.BeginList()
	c.ListObject(objects.Put("default/b rv=9"))
	c.Fault("default/b", 12, api.NotFound("it was deleted"), 6)
	c.EndList(20, 6)
	require.NotZero(t, c.Get("default/b"), "the list has it")
	c.BeginList()
	c.Fault("default/b", 25, api.NotFound("it was deleted"), 7)
	c.EndList(30, 7)
	require.Zero(t, c.Get("default/b"), "and this one does not")
}

// Regression 4: an object that was replaced while it could not be read stayed
// with readers whose selector the new version does not match.
func TestC53_the_replacement_of_a_faulty_object_is_told(t *testing.T) {
	c := cacher.New(cacher.Config{Schema: objects.Pods()})
	c.BeginList()
	c.Fault("default/a", 4, api.Invalid("garbage"), 1)
	c.EndList(5, 1)
	_, before := c.Faults()
	c.Apply(objects.Put("default/a rv=7"), 3)
	list, mark := c.Faults()
	require.Greater(t, mark, before)
	require.Equal(t, 404, list[0].Status.Code)
	require.EqualValues(t, 7, list[0].ResourceVersion)
	c.Progress(8, 4)
	require.NotZero(t, c.Get("default/a"))
	c.Apply(objects.Put("default/a rv=9"), 5)
	list, _ = c.Faults()
	require.Len(t, list, 1, "whoever was not told yet still has to be")
}

// Regression 5: the last good version of a faulty object outlived the database
// that it came from.
func TestC53_another_source_has_no_last_good_versions(t *testing.T) {
	c := cacher.New(cacher.Config{Schema: objects.Pods()})
	c.SetSource("one")
	c.BeginList()
	c.ListObject(objects.Put("default/a rv=3"))
	c.EndList(5, 1)
	c.SetSource("two")
	c.BeginList()
	c.Fault("default/a", 8, api.Invalid("garbage"), 2)
	c.EndList(9, 2)
	require.Zero(t, c.Get("default/a"))
	c.BeginList()
	c.ListObject(objects.Put("default/a rv=10"))
	c.EndList(10, 3)
	c.BeginList()
	c.Fault("default/a", 11, api.Invalid("garbage"), 2)
	c.EndList(12, 2)
	require.NotZero(t, c.Get("default/a"))
}

// Regression 6: an object that could not be read went back to the last good
// version of a connector that lagged behind, when a reader came to it with a
// newer one (found by simulation).
func TestC53_a_list_does_not_take_an_object_back_in_time(t *testing.T) {
	c := cacher.New(cacher.Config{Schema: objects.Pods()})
	c.SetSource("one")
	c.BeginList()
	c.ListObject(objects.Put("default/a rv=25"))
	c.ListObject(objects.Put("default/b rv=3"))
	c.EndList(30, 1)
	c.BeginList()
	c.Fault("default/a", 47, api.Invalid("garbage"), 2)
	c.ListObject(objects.Put("default/a rv=14"))
	c.ListObject(objects.Put("default/b rv=3"))
	c.EndList(48, 2)
	require.EqualValues(t, 25, c.Heap().ResourceVersion(c.Get("default/a")))

	c.SetSource("two")
	c.BeginList()
	c.ListObject(objects.Put("default/a rv=14"))
	c.EndList(50, 3)
	require.EqualValues(t, 14, c.Heap().ResourceVersion(c.Get("default/a")), "another history has versions of its own")
}

// Regression 7: an object was deleted, and made anew so that it cannot be read. Who had missed
// the deletion served the version before it as the last good one, and readers that
// had seen the deletion took it from there.
func TestC53_what_was_deleted_is_no_last_good_version(t *testing.T) {
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
		w.BeginList()
		w.ListObject(objects.Put("ns/b rv=1"))
		w.EndList(10, 1000)
		w.BeginList()
		w.ListObject(objects.Put("ns/a rv=5"))
		w.ListObject(objects.Put("ns/b rv=1"))
		if c.fault {
			w.Fault("ns/a", 11, unreadable, 1000)
		}
		w.EndList(c.rv, 1000)
		require.Equal(t, c.shown, w.State().Get("ns/a") != 0, c.why)
		require.NotZero(t, w.State().Get("ns/b"), c.why)
	}
}
