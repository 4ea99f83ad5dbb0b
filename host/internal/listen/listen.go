// Package listen opens listeners on the addresses that users pass in flags.
package listen

import (
	"errors"
	"fmt"
	"net"
	"syscall"
)

// On listens on an address that was given in a flag such as "--listen". Its errors contain
// the flag, so that users know what to change.
func On(flag, address string) (net.Listener, error) {
	listener, err := net.Listen("tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("%s is in use by another program: stop it, or choose another port with %s "+
			"(%[2]s 127.0.0.1:0 selects a free port)", address, flag)
	}
	var malformed *net.AddrError
	if errors.As(err, &malformed) {
		return nil, fmt.Errorf("%s %q: expected an address and a port, such as 127.0.0.1:8080", flag, address)
	}
	var unknown *net.DNSError // an unknown host name or port name
	switch {
	case errors.As(err, &unknown), errors.Is(err, syscall.EADDRNOTAVAIL):
		return nil, fmt.Errorf("%s %s: expected an address of this machine and a port, such as 127.0.0.1:8080, or :8080 for all addresses: %w", flag, address, err)
	case errors.Is(err, syscall.EACCES):
		return nil, fmt.Errorf("%s %s: this user may not listen on the port: choose one above 1023: %w", flag, address, err)
	case err != nil:
		return nil, fmt.Errorf("%s %s: %w", flag, address, err)
	}
	return listener, nil
}

// Free returns nil if the program can listen on the address. Otherwise, for example if the
// address is in use, it returns the error of On.
func Free(flag, address string) error {
	listener, err := On(flag, address)
	if err != nil {
		return err
	}
	return listener.Close()
}
