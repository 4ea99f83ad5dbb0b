// Package objcache keeps individual objects up to date while they are referenced. For
// example, a pod's page references its pod, and each pod that mounts a Secret references
// the Secret. The package implements the watch-based manager of the kubelet (rules K1 to
// K16) without goroutines.
//
// A [Cache] has one item per referenced object. Owners add and remove references with
// [Cache.Add] and [Cache.Remove]. The item exists as long as it has references. A
// [Source] supplies the item: an open collection that includes the object, or otherwise a
// list and watch of that object alone. [Cache.Get] reads from a loaded source, and waits
// up to a second for a source that is still loading. Errors distinguish three cases. An
// object without references is "not registered", a missing object is NotFound, and an
// object that did not arrive in time is "failed to sync".
//
// Watches are expensive for the server, so two kinds of items have none:
//
//   - A sweep stops the watch of an idle item, which has not been read for
//     [Config].MaxIdleMillis. The next Get starts a new watch, whose state is never older
//     than the result of an earlier Get.
//   - An immutable object is copied when it is first read, and its watch stops.
//
// The watch of a followed item ([Cache.Follow]) never stops, and [Cache.Look] returns the
// current state of the item.
//
// The program drives the cache: it calls Tick with the time, and Settle after any change
// in a source. The cache does not depend on the kind of its sources; see [Upstream].
// [Registrations] keeps references to the objects that the latest version of a pod uses.
//
// # Differences from the kubelet
//
// The cache ignores and counts the release of a reference that its owner does not hold.
// In the kubelet, that release leaves a count of -1, which cancels a later reference
// (rule K3).
//
// An object that was never read becomes idle [Config].MaxIdleMillis after it was loaded.
// In the kubelet, the next sweep removes that object (rule K12).
//
// The copy of an immutable object is not served forever. An immutable object can be
// deleted and recreated with different content, and the kubelet then continues to serve
// the old object (kubernetes/kubernetes#131589). This cache checks a copy with one list
// when a new owner adds a reference, and at the first Get after MaxIdleMillis without a
// check. If the check takes longer than a second, the cache serves the copy. The copy is
// probably still correct, and its users need it most while the server is unreachable. An
// open collection that includes the object takes precedence over the copy.
//
// A Get fails immediately if the server has rejected the source, because the object will
// not arrive.
//
// The release of the last reference removes the item of an object, and the next reference
// creates a new item (rule K4). The program may nevertheless keep a source open for a while
// after Close and reuse it. A reused source is as current as a new list.
//
// # Debugging references
//
// Built with the tag refdebug, the cache records when and where each reference
// was added; [Cache.Holders] returns the record. Without the tag, Holders returns
// owners and counts only.
package objcache
