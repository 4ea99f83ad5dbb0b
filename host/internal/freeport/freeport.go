// Package freeport chooses TCP ports for servers whose addresses must be known before the
// servers listen, such as the members of an etcd cluster.
//
// Opening a listener on port 0 and closing it does not reserve the port. An outgoing connection
// or the next listener on port 0 may take the port before the server does.
package freeport

import (
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
)

const (
	// first and last are the bounds of the reserved ports. They are below the ports that
	// the kernel assigns to outgoing connections and to listeners on port 0. The kernel's
	// ports begin at 32768 on Linux and at 49152 on macOS.
	first, last = 12_000, 31_999
	attempts    = 1000
)

// reservations holds the UDP sockets that reserve ports until the process exits.
var reservations struct {
	sync.Mutex
	sockets []net.PacketConn
}

// Reserve returns a TCP port that is free on 127.0.0.1. It reserves the port by binding
// the UDP port with the same number until the process exits. Until then, no other call in this
// or another process returns the port. The TCP port itself stays free, even while its server
// restarts.
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

// Address returns the address of a port on loopback, in the form host:port.
func Address(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }
