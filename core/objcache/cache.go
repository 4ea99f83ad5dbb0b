package objcache

import (
	"strings"

	"github.com/watchglass/watchglass/core/api"
)

func quote(s string) string { return api.Quote(s) }

const (
	// sweepMillis is how often idle items are looked for (rule K12).
	sweepMillis = 60_000
	// waitMillis is how long a Get waits for its item (rule K8).
	waitMillis = 1000
	// defaultMaxIdle is five times the resync interval of a kubelet.
	defaultMaxIdle = 5 * 60_000
)

// Config of a cache.
type Config struct {
	// MaxIdleMillis is how long an item is watched that nobody reads, and how
	// long the copy of an immutable one goes unchecked. Zero means five
	// minutes; it is a minute at the least.
	MaxIdleMillis int64
}

// Counters for inspection.
type Counters struct {
	Items      int // objects that anyone refers to
	References int
	Watches    int // sources opened for one object
	Covered    int // items served by a collection that is open anyway
	Waiting    int // Gets that wait
	Ignored    int // references given up that were not held, since the start
}

// Cache is a set of single objects, each present while it is referred to.
type Cache struct {
	up      Upstream
	maxIdle int64
	now     int64
	sweepAt int64 // zero while nothing runs
	down    bool
	items   []*item // in the order of their creation
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

// Add takes a reference and, for the first one, starts to make the object
// present (rule K2). It never waits. An owner may have several.
func (c *Cache) Add(id ID, owner string) *api.Status {
	if status := id.validate(); status != nil {
		return status
	}
	it := c.byID[id]
	if it == nil {
		id = ID{strings.Clone(id.Resource), api.Key(strings.Clone(string(id.Key)))}
		it = &item{cache: c, id: id}
		c.byID[id] = it
		c.items = append(c.items, it)
		it.start()
	}
	if it.refs.add(strings.Clone(owner), c.now) && it.copy != nil {
		it.start() // check it: this owner may come for a new object of the same name
	}
	return nil
}

// Remove gives a reference up; the object goes with the last one (rule K3). It
// reports false when the owner has none, which changes nothing but a counter.
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
		c.items = api.Remove(c.items, it)
	}
	return true
}

// Follow keeps the object watched, however long nobody reads it, until as many
// calls of Unfollow. It is for those who hold a reference, and ends with the
// last one at the latest.
func (c *Cache) Follow(id ID) {
	if it := c.byID[id]; it != nil {
		it.followers++
		it.start()
	}
}

// Unfollow takes back one Follow.
func (c *Cache) Unfollow(id ID) {
	if it := c.byID[id]; it != nil && it.followers > 0 {
		it.followers--
		it.accessed = c.now
		it.planSweep()
	}
}

// Get calls done once, now or within a second, with the object or with why
// there is none (rules K5 to K9). The object lives as long as the call; done
// must not call the cache.
func (c *Cache) Get(id ID, done func(*Object, *api.Status)) {
	it := c.byID[id]
	if it == nil {
		done(nil, notRegistered(id))
		return
	}
	it.accessed = c.now // rule K6
	it.get(done)
}

// Look returns what is known of an object that someone refers to.
func (c *Cache) Look(id ID) (Look, bool) {
	it := c.byID[id]
	if it == nil {
		return Look{}, false
	}
	return it.look(), true
}

// Settle lets items see what has happened to their sources since they were
// last asked, and answers the Gets that waited for it.
func (c *Cache) Settle() {
	for _, it := range c.items {
		it.settle()
	}
}

// Tick tells the time in milliseconds, and does what has become due.
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

// sweep stops what is idle, and plans the next sweep if anything may become so.
func (c *Cache) sweep() {
	c.sweepAt = 0
	for _, it := range c.items {
		if it.own && it.idle() {
			it.stop()
		}
		it.planSweep()
	}
}

// NextTick is when Tick has something to do, or zero.
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

// Shutdown stops everything and starts nothing any more (rule K13). Copies of
// immutable objects are still served; other Gets fail when their second is over.
func (c *Cache) Shutdown() {
	c.down = true
	for _, it := range c.items {
		it.stop()
	}
}

// Inspect counts what there is.
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

// notRegistered is not a NotFound: the object may well exist (rule K5).
func notRegistered(id ID) *api.Status {
	return api.BadRequest("object " + quote(id.Key.Namespace()) + "/" + quote(id.Key.Name()) + " not registered")
}

// notFound says that the object does not exist (rule K9).
func notFound(id ID) *api.Status {
	return api.NotFound(resourceName(id) + " " + quote(string(id.Key)) + " not found")
}

// notSynced says that the object did not come in time (rule K8).
func notSynced(id ID, why *api.Status) *api.Status {
	s := &api.Status{Code: 504, Reason: api.ReasonTimeout, RetryAfterSeconds: 1,
		Message: "failed to sync " + resourceName(id) + " cache: timed out waiting for the condition"}
	if why != nil {
		s.Message += "; the last thing heard was " + why.Error()
	}
	return s
}

// resourceName is the last part of group/version/name.
func resourceName(id ID) string { return id.Resource[strings.LastIndexByte(id.Resource, '/')+1:] }
