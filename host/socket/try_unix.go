//go:build unix

package socket

import "syscall"

const canTry = true

// tryWrite writes what there is room for, which may be nothing. Go's sockets do not
// block.
func tryWrite(fd uintptr, p []byte) int {
	n, err := syscall.Write(int(fd), p)
	if err != nil {
		return 0
	}
	return n
}
