// Package objcache keeps single objects present for those who refer to them,
// and for no longer: a pod's page keeps its pod, a mounted Secret is kept by
// every pod that mounts it. It is the watch-based manager of the kubelet
// (rules K1 to K16) without the goroutines.
//
// A [Cache] holds one item per object that anyone refers to. Owners [Cache.Add]
// and [Cache.Remove] references, as often as they like; the item lives while
// one is left. An item is fed by a [Source]: a collection that happens to be
// open and includes the object anyway, or else a list and watch of that one
// object. [Cache.Get] answers from the source once that is complete, and waits
// for it up to a second. The errors differ on purpose: an object that nobody
// refers to is "not registered", one that does not exist is NotFound, and one
// that did not come in time is "failed to sync".
//
// Watches cost the server something, so two kinds of item do without:
//
//   - One that was idle is swept: nobody has read it for [Config].MaxIdleMillis,
//     and its watch stops. The next Get starts it again, never from an older
//     state than it has shown before.
//   - An immutable object is copied when it is first read, and its watch stops.
//
// Whoever follows an item ([Cache.Follow]) reads it all the time: its watch
// never stops, and [Cache.Look] says at any moment what is known of it.
//
// The program around drives the cache: Tick with the time, and Settle after
// anything has happened to a source. Nothing here knows what a source is made
// of; see [Upstream]. A [Registrations] turns "this pod, in this version, uses
// these objects" into references.
//
// # Where it departs from the kubelet
//
// Releasing a reference that its owner does not hold is ignored and counted;
// in the kubelet it leaves a count of -1, and a later reference is lost in it
// (rule K3).
//
// An object that was loaded and not read yet is idle since it was loaded, not
// since the beginning of time; in the kubelet the next sweep takes it
// (rule K12).
//
// The copy of an immutable object is not served for ever. Immutable objects can
// be deleted and created anew with other content, and then the kubelet goes on
// handing out the old one (kubernetes/kubernetes#131589). Here a copy is checked
// with one list when an owner joins who did not refer to it before, and by the
// first Get after it has been unchecked for MaxIdleMillis. Where the check does
// not come through within the second of a Get, the copy is served: nothing says
// that it is wrong, and those who rely on it want it most when the server cannot
// be reached. A collection that is open and includes the object takes precedence
// over the copy at once.
//
// A Get does not wait for what will not come: when the source is refused, it
// fails with the refusal.
//
// A reference that is given up and taken again makes a new item (rule K4), but
// the program may keep a source open for a while after Close. What such a source
// serves is as current as that of a new list.
//
// # Who holds what
//
// Built with the tag refdebug, the cache records when and from where in the
// code each reference was taken; [Cache.Holders] has it. Without the tag it
// tells owners and counts alone.
package objcache
