//go:build unix

package socket

import "syscall"

const canTry = true

// tryWrite writes as much of p as possible without blocking and returns the number of bytes
// written. After an error, it returns zero. The descriptors of Go's sockets are in
// nonblocking mode.
func tryWrite(fd uintptr, p []byte) int {
	n, err := syscall.Write(int(fd), p)
	if err != nil {
		return 0
	}
	return n
}
