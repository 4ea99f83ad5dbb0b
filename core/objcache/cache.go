package objcache

import (
	"strings"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/internal/lite"
)

//go:noinline
func quote(s string) string { return lite.Quote(s) }

const (
	// sweepMillis is the interval of sweeps for idle items (rule K12).
	sweepMillis = 60_000
	// waitMillis is how long a Get waits for its item (rule K8).
	waitMillis = 1000
	// defaultMaxIdle is five times the resync interval of the kubelet.
	defaultMaxIdle = 5 * 60_000
)

// Config configures a cache.
type Config struct {
	// MaxIdleMillis is how long an unread item is watched, and how long a copy of
	// an immutable object is used without a check. The default is five minutes,
	// the minimum one minute.
	MaxIdleMillis int64
}

// Counters contains the counters that Inspect returns.
type Counters struct {
	Items      int // objects with references
	References int
	Watches    int // sources opened for one object
	Covered    int // items served by a collection that is open for other reasons
	Waiting    int // waiting Gets
	Ignored    int // releases of references that did not exist, since the start
}

// Cache is a set of individual objects that are kept up to date as long as they
// are referenced.
type Cache struct {
	up      Upstream
	maxIdle int64
	now     int64
	sweepAt int64 // zero if no sweep is scheduled
	down    bool
	items   []*item // in order of creation
	byID    map[ID]*item
	ignored int
}

// New returns an empty cache.
func New(cfg Config, up Upstream) *Cache {
	if cfg.MaxIdleMillis == 0 {
		cfg.MaxIdleMillis = defaultMaxIdle
	}
	return &Cache{up: up, maxIdle: max(cfg.MaxIdleMillis, sweepMillis), byID: map[ID]*item{}}
}

// Add adds a reference. The first reference starts loading the object (rule K2). Add
// never waits. An owner may have several references. Add returns an error only if the ID
// is malformed.
func (c *Cache) Add(id ID, owner string) *api.Status {
	if status := id.validate(); status != nil {
		return status
	}
	it := c.byID[id]
	if it == nil {
		id = ID{lite.Clone(id.Resource), api.Key(lite.Clone(string(id.Key)))}
		it = &item{cache: c, id: id}
		c.byID[id] = it
		c.items = append(c.items, it)
		it.start()
	}
	if it.refs.add(lite.Clone(owner), c.now) && it.copy != nil {
		it.start() // Check the copy, because this owner may expect a recreated object with the same name.
	}
	return nil
}

// Remove drops a reference. Dropping the last reference removes the object (rule K3). If
// the owner has no reference, Remove only counts the call and returns false.
func (c *Cache) Remove(id ID, owner string) bool {
	it := c.byID[id]
	if it == nil || !it.refs.remove(owner) {
		c.ignored++
		return false
	}
	if len(it.refs.list) == 0 {
		it.stop()
		it.fail(notRegistered(id))
		delete(c.byID, id)
		c.items = lite.Remove(c.items, it)
	}
	return true
}

// Follow keeps the watch of the object open, even if the object is not read. Each Follow
// requires one Unfollow. The caller must hold a reference. Dropping the last reference to
// the object also cancels all Follows.
func (c *Cache) Follow(id ID) {
	if it := c.byID[id]; it != nil {
		it.followers++
		it.start()
	}
}

// Unfollow reverts one call to Follow.
func (c *Cache) Unfollow(id ID) {
	if it := c.byID[id]; it != nil && it.followers > 0 {
		it.followers--
		it.accessed = c.now
		it.planSweep()
	}
}

// Get calls done once, within a second, with the object or the reason why there is none
// (rules K5 to K9). The object is valid until done returns, and done must not call the
// cache.
func (c *Cache) Get(id ID, done func(*Object, *api.Status)) {
	it := c.byID[id]
	if it == nil {
		done(nil, notRegistered(id))
		return
	}
	it.accessed = c.now // rule K6
	it.get(done)
}

// Look returns the known state of an object, or false if the object has no references.
func (c *Cache) Look(id ID) (Look, bool) {
	it := c.byID[id]
	if it == nil {
		return Look{}, false
	}
	return it.look(), true
}

// Settle updates all items after changes in their sources, and completes waiting Gets.
func (c *Cache) Settle() {
	for _, it := range c.items {
		it.settle()
	}
}

// Tick sets the time in milliseconds and performs the work that is due.
func (c *Cache) Tick(now int64) {
	c.now = max(c.now, now)
	for _, it := range c.items {
		it.settle()
		it.expire()
	}
	if c.sweepAt != 0 && c.now >= c.sweepAt {
		c.sweep()
	}
}

// sweep stops idle items, and schedules the next sweep if needed.
func (c *Cache) sweep() {
	c.sweepAt = 0
	for _, it := range c.items {
		if it.own && it.idle() {
			it.stop()
		}
		it.planSweep()
	}
}

// NextTick returns the time at which Tick has work to do, or zero if there is none.
func (c *Cache) NextTick() int64 {
	next := c.sweepAt
	for _, it := range c.items {
		for i := range it.waiting {
			if next == 0 || it.waiting[i].deadline < next {
				next = it.waiting[i].deadline
			}
		}
	}
	return next
}

// Shutdown stops all items and prevents new items from starting (rule K13). Copies of
// immutable objects are still served; all other Gets time out.
func (c *Cache) Shutdown() {
	c.down = true
	for _, it := range c.items {
		it.stop()
	}
}

// Inspect returns the counters.
func (c *Cache) Inspect() Counters {
	n := Counters{Items: len(c.items), Ignored: c.ignored}
	for _, it := range c.items {
		n.References += it.refs.total()
		n.Waiting += len(it.waiting)
		switch {
		case it.own:
			n.Watches++
		case it.source != nil:
			n.Covered++
		}
	}
	return n
}

// notRegistered returns the error for an object without references. The error is a
// BadRequest and not a NotFound, because the object may exist (rule K5).
func notRegistered(id ID) *api.Status {
	return api.BadRequest("object " + quote(id.Key.Namespace()) + "/" + quote(id.Key.Name()) + " not registered")
}

// notFound returns the error for an object that does not exist (rule K9).
func notFound(id ID) *api.Status {
	return api.NotFound(resourceName(id) + " " + quote(string(id.Key)) + " not found")
}

// notSynced returns the error for an object that did not arrive in time (rule K8).
func notSynced(id ID, why *api.Status) *api.Status {
	s := &api.Status{Code: api.CodeGatewayTimeout, Reason: api.ReasonTimeout, RetryAfterSeconds: 1,
		Message: "failed to sync " + resourceName(id) + " cache: timed out waiting for the condition"}
	if why != nil {
		s.Message += "; the last status was " + why.Error()
	}
	return s
}

// resourceName returns the last part of group/version/name.
func resourceName(id ID) string { return id.Resource[strings.LastIndexByte(id.Resource, '/')+1:] }
