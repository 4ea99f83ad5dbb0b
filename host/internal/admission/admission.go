package admission

import (
	"container/list"
	"net/netip"
	"sync"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/host/access"
	"github.com/watchglass/watchglass/host/limit"
)

// Control counts and limits the connections of a server. It is safe for concurrent use.
type Control struct {
	limits  *limit.Set
	proxies []netip.Prefix
	conns   sync.Map // maps net.Conn to *Conn, for http.Server

	mu        sync.Mutex
	opened    uint64
	strangers int // number of connections without a user
	waiting   map[netip.Prefix]*group
	admitted  int // number of connections with a user
	addresses map[netip.Prefix]int
	users     map[string]int
}

// group contains the unauthenticated connections of one address.
type group struct {
	silent   list.List // of *Conn, oldest first
	deciding int
}

func (g *group) len() int { return g.silent.Len() + g.deciding }

// New returns a Control that trusts the X-Forwarded-For header of requests from the given
// proxies.
func New(limits *limit.Set, proxies []netip.Prefix) *Control {
	return &Control{
		limits: limits, proxies: proxies,
		waiting: map[netip.Prefix]*group{}, addresses: map[netip.Prefix]int{}, users: map[string]int{},
	}
}

// Counts returns the numbers of unauthenticated and authenticated connections.
func (c *Control) Counts() (unauthenticated, authenticated int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.strangers, c.admitted
}

type state uint8

const (
	opening  state = iota // not counted yet
	silent                // has no user; may be closed to make room
	deciding              // has no user yet; its token is being checked
	admitted              // has a user
	closed                // no longer counted
)

// Conn is one counted connection. It implements access.Connection.
type Conn struct {
	control *Control
	shed    func()

	// control.mu guards the following fields.
	state   state
	block   netip.Prefix
	since   uint64        // sequence number; orders silent connections by age
	element *list.Element // in group.silent
	user    string        // empty if the user is shared, so that the limit per user does not apply

	detached bool // Release has no effect
}

var _ access.Connection = (*Conn)(nil)

// Open counts a new connection. Pass the zero Addr if the address is unknown. To close
// the connection, Control calls the function shed at most once, from any goroutine. The
// function shed must not block. The caller must call Close when the connection has
// ended.
func (c *Control) Open(address netip.Addr, shed func()) *Conn {
	conn := &Conn{control: c, shed: shed, block: access.Client{Address: address}.Block()}
	conn.change(silent)
	return conn
}

// Deciding implements access.Connection.
func (c *Conn) Deciding() {
	c.control.mu.Lock()
	defer c.control.mu.Unlock()
	if c.state == silent {
		c.leave()
		c.enter(deciding)
	}
}

// Admit implements access.Connection.
func (c *Conn) Admit(user *access.User) *api.Status {
	control := c.control
	control.mu.Lock()
	defer control.mu.Unlock()
	name := user.Name
	if user.Shared {
		name = ""
	}
	switch {
	case c.state == closed:
		return api.TooManyRequests("the connection was closed to make room for others", 1)
	case c.state == admitted:
		return nil
	case c.block.IsValid() && control.addresses[c.block] >= control.limits.Int(limit.MaxConnectionsPerAddress):
		return control.limits.Refuse(limit.MaxConnectionsPerAddress, "your address has too many connections: close some, or try again later")
	case name != "" && control.users[name] >= control.limits.Int(limit.MaxConnectionsPerUser):
		return control.limits.Refuse(limit.MaxConnectionsPerUser, "you have too many connections: close some, or try again later")
	}
	c.leave()
	c.user = name
	c.enter(admitted)
	return nil
}

// Release implements access.Connection.
func (c *Conn) Release() {
	c.control.mu.Lock()
	detached := c.detached
	c.control.mu.Unlock()
	if !detached {
		c.change(silent)
	}
}

// Detach disables Release, for a connection that outlives its request handler, such as a
// WebSocket. If c is nil, Detach has no effect.
func (c *Conn) Detach() {
	if c != nil {
		c.control.mu.Lock()
		defer c.control.mu.Unlock()
		c.detached = true
	}
}

// Close removes the connection from all counts. If c is nil or already closed, Close has no
// effect.
func (c *Conn) Close() {
	if c != nil {
		c.change(closed)
	}
}

// move counts a silent connection under the address block of its next request.
func (c *Conn) move(block netip.Prefix) {
	c.control.mu.Lock()
	moved := c.state == silent && c.block != block
	if moved {
		c.leave()
		c.block = block
		c.enter(silent)
	}
	c.control.mu.Unlock()
}

// change moves a connection to a state. If the counts then exceed a limit, it closes a
// silent connection.
func (c *Conn) change(to state) {
	c.control.mu.Lock()
	var excess *Conn
	if c.state != closed && c.state != to {
		c.leave()
		c.enter(to)
		excess = c.control.excess(c.block)
	}
	c.control.mu.Unlock()
	if excess != nil {
		excess.shed()
	}
}

// enter sets the state of the connection and adds the connection to the counts of that
// state. The caller holds the lock.
func (c *Conn) enter(to state) {
	control := c.control
	c.state = to
	switch to {
	case silent:
		control.opened++
		c.since = control.opened
		c.element = control.group(c.block).silent.PushBack(c)
		control.strangers++
	case deciding:
		control.group(c.block).deciding++
		control.strangers++
	case admitted:
		control.admitted++
		control.addresses[c.block]++
		if c.user != "" {
			control.users[c.user]++
		}
	}
}

// leave removes the connection from the counts of its state. The caller holds the lock.
func (c *Conn) leave() {
	control := c.control
	switch c.state {
	case silent:
		control.group(c.block).silent.Remove(c.element)
		control.strangers--
	case deciding:
		control.group(c.block).deciding--
		control.strangers--
	case admitted:
		control.admitted--
		decrement(control.addresses, c.block)
		if c.user != "" {
			decrement(control.users, c.user)
		}
	}
	if g := control.waiting[c.block]; g != nil && g.len() == 0 {
		delete(control.waiting, c.block)
	}
}

func decrement[K comparable](counts map[K]int, key K) {
	if counts[key]--; counts[key] == 0 {
		delete(counts, key)
	}
}

// group returns the group of an address, and creates it if it is missing. The caller holds
// the lock.
func (c *Control) group(block netip.Prefix) *group {
	g := c.waiting[block]
	if g == nil {
		g = &group{}
		c.waiting[block] = g
	}
	return g
}

// excess removes and returns a silent connection if the address or the server has too
// many connections without a user. Otherwise it returns nil. The caller holds the
// lock, and must close the connection after releasing the lock.
func (c *Control) excess(block netip.Prefix) *Conn {
	g, l := c.waiting[block], limit.MaxUnauthenticatedPerAddress
	if g == nil || !block.IsValid() || g.len() <= c.limits.Int(l) {
		if l = limit.MaxUnauthenticated; c.strangers <= c.limits.Int(l) {
			return nil
		}
		g = c.heaviest()
	}
	if g == nil || g.silent.Len() == 0 {
		return nil // the tokens of all these connections are being checked; the limits of reviews bound their number
	}
	c.limits.Count(l)
	conn := g.silent.Front().Value.(*Conn)
	conn.leave()
	conn.state = closed
	return conn
}

// heaviest returns the group with the most connections, among the groups with a silent
// connection. Of groups of equal size, it returns the group with the oldest silent
// connection. It returns nil if no group has a silent connection.
func (c *Control) heaviest() *group {
	var heaviest *group
	for _, g := range c.waiting {
		if g.silent.Len() > 0 && (heaviest == nil || g.len() > heaviest.len() || g.len() == heaviest.len() && g.since() < heaviest.since()) {
			heaviest = g
		}
	}
	return heaviest
}

// since returns the sequence number of the group's oldest silent connection.
func (g *group) since() uint64 { return g.silent.Front().Value.(*Conn).since }
