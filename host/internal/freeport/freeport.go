// Package freeport chooses TCP ports for programs whose address must be fixed before
// they listen. Examples are the members of an etcd cluster and the servers of tests.
//
// A port is not reserved by opening a listener on port 0 and closing it. An outgoing
// connection or the next listener on port 0 may take the port before the program does.
package freeport

import (
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
)

const (
	// first and last are below the ports that the kernel assigns to outgoing
	// connections and to listeners on port 0. These begin at 32768 on Linux and at
	// 49152 on macOS.
	first, last = 12_000, 31_999
	attempts    = 1000
)

// reservations contains the UDP sockets that reserve ports.
var reservations struct {
	sync.Mutex
	sockets []net.PacketConn
}

// Reserve returns a TCP port that is free on 127.0.0.1. Reserve binds the UDP port
// of the same number until the process exits. Until then, no other call in this or
// another process returns the port. The TCP port stays free, also between a stop and
// a restart of its server.
func Reserve() (int, error) {
	for range attempts {
		port := first + rand.IntN(last-first+1)
		address := Address(port)
		socket, err := net.ListenPacket("udp", address)
		if err != nil {
			continue
		}
		listener, err := net.Listen("tcp", address)
		if err != nil {
			socket.Close()
			continue
		}
		if err := listener.Close(); err != nil {
			socket.Close()
			return 0, err
		}
		reservations.Lock()
		defer reservations.Unlock()
		reservations.sockets = append(reservations.sockets, socket)
		return port, nil
	}
	return 0, fmt.Errorf("found no free TCP port between %d and %d on 127.0.0.1 in %d attempts: stop programs that hold ports", first, last, attempts)
}

// Address returns host:port of a port on loopback.
func Address(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }
