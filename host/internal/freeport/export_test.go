package freeport

// Release releases all ports that this process has reserved, so that tests can run
// repeatedly in one process.
func Release() {
	reservations.Lock()
	defer reservations.Unlock()
	for _, socket := range reservations.sockets {
		socket.Close()
	}
	reservations.sockets = nil
}
