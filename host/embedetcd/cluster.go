package embedetcd

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"sync"
)

// StartCluster runs a cluster of several members, each in a temporary
// directory and on free ports, and returns when all serve. The caller closes
// each.
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

// Plan returns the members of a new cluster on free ports.
func Plan(size int) ([]Member, error) {
	peers, err := freePorts(size)
	if err != nil {
		return nil, err
	}
	members, parts, token := make([]Member, size), make([]string, size), rand.Text()
	for i := range members {
		members[i] = Member{Name: fmt.Sprintf("member-%d", i), Peer: peers[i], Token: token}
		parts[i] = members[i].Name + "=" + peers[i].String()
	}
	for i := range members {
		members[i].Cluster = strings.Join(parts, ",")
	}
	return members, nil
}

// freePorts returns ports that were free just before, because members must know the
// ports of the others before they listen.
func freePorts(n int) ([]url.URL, error) {
	urls := make([]url.URL, n)
	for i := range urls {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer listener.Close()
		urls[i] = loopback(listener.Addr().(*net.TCPAddr).Port)
	}
	return urls, nil
}
