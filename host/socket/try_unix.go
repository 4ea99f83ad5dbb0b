//go:build unix

package socket

import "syscall"

const canTry = true

// tryWrite writes as much as possible without blocking, possibly nothing. Go's
// sockets are nonblocking.
func tryWrite(fd uintptr, p []byte) int {
	n, err := syscall.Write(int(fd), p)
	if err != nil {
		return 0
	}
	return n
}
