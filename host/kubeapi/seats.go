package kubeapi

import (
	"net/http"
	"net/netip"
	"sync"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/host/access"
	"github.com/watchglass/watchglass/host/limit"
)

// seats limits concurrent requests. A heavy request takes several seats. A request is
// refused if its client would afterwards hold more seats than were free before the request.
// With small requests, one client can therefore take half of the seats, and a second client
// half of the rest. Other clients can use the remaining seats. One heavy request may take
// all free seats.
type seats struct {
	limits *limit.Set
	limit  *limit.Limit

	mu      sync.Mutex
	taken   int
	clients map[string]int // seats in use, by client
}

func newSeats(limits *limit.Set, l *limit.Limit) *seats {
	return &seats{limits: limits, limit: l, clients: map[string]int{}}
}

// take takes n seats for a client, or returns a refusal. The returned function leave frees
// the seats.
func (s *seats) take(client string, n int) (leave func(), refused *api.Status) {
	s.mu.Lock()
	defer s.mu.Unlock()
	total := s.limits.Int(s.limit)
	n = min(n, total)
	if s.clients[client]+n > total-s.taken {
		return nil, s.limits.Refuse(s.limit, "this client has too many concurrent requests: try again")
	}
	s.taken += n
	s.clients[client] += n
	return func() { s.leave(client, n) }, nil
}

func (s *seats) leave(client string, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken -= n
	if s.clients[client] -= n; s.clients[client] == 0 {
		delete(s.clients, client)
	}
}

// within calls the function "answer" while the client holds n seats, and returns the
// status. If n seats are not available, it returns a refusal.
func (s *seats) within(client string, n int, answer func() *api.Status) *api.Status {
	leave, refused := s.take(client, n)
	if refused != nil {
		return refused
	}
	defer leave()
	return answer()
}

// inUse returns the number of seats in use.
func (s *seats) inUse() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.taken
}

const (
	objectsPerSeat = 1000
	maxSeats       = 10
)

// seatsOf returns the number of seats, from 1 to maxSeats, for a request that visits the
// given number of objects.
func seatsOf(objects int) int {
	return max(1, min((objects+objectsPerSeat-1)/objectsPerSeat, maxSeats))
}

// clientOf returns the client to which a request is charged: the user, or the block of
// addresses if the policy does not distinguish users.
func clientOf(r *http.Request, user *access.User) string {
	if user != nil && !user.Shared {
		return "user " + user.Name
	}
	client := access.ClientOf(r.Context())
	if !client.Address.IsValid() {
		if address, err := netip.ParseAddrPort(r.RemoteAddr); err == nil {
			client.Address = address.Addr()
		}
	}
	return client.Block().String()
}
