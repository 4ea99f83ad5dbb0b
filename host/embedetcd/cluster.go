package embedetcd

import (
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/watchglass/watchglass/host/internal/freeport"
)

// StartCluster starts a cluster of size members, each in a temporary directory and on free
// ports, and returns when all members serve. The caller must close each server.
func StartCluster(size int, config Config) ([]*Server, error) {
	members, err := Plan(size)
	if err != nil {
		return nil, err
	}
	config.Dir, config.ClientPort = "", 0
	servers, errs := make([]*Server, size), make([]error, size)
	var all sync.WaitGroup // members wait for each other, so they start concurrently
	for i, m := range members {
		all.Go(func() { servers[i], errs[i] = StartMember(config, m) })
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		for _, s := range servers {
			if s != nil {
				s.Close()
			}
		}
		return nil, err
	}
	return servers, nil
}

// Plan chooses free peer ports for a new cluster and returns its members, without starting
// them.
func Plan(size int) ([]Member, error) {
	members, parts, token := make([]Member, size), make([]string, size), rand.Text()
	for i := range members {
		// Each member must know the ports of all members before any of them listens.
		port, err := freeport.Reserve()
		if err != nil {
			return nil, err
		}
		members[i] = Member{Name: fmt.Sprintf("member-%d", i), Peer: loopback(port), Token: token}
		parts[i] = members[i].Name + "=" + members[i].Peer.String()
	}
	for i := range members {
		members[i].Cluster = strings.Join(parts, ",")
	}
	return members, nil
}
