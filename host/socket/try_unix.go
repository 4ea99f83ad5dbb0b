//go:build unix

package socket

import "syscall"

const canTry = true

// tryWrite writes as much as possible without blocking and returns the number of bytes,
// which may be zero. The descriptors of Go's sockets are in nonblocking mode.
func tryWrite(fd uintptr, p []byte) int {
	n, err := syscall.Write(int(fd), p)
	if err != nil {
		return 0
	}
	return n
}
