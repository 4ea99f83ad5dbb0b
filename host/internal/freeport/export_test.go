package freeport

// Release ends all reservations of this process, so that tests can be repeated.
func Release() {
	reservations.Lock()
	defer reservations.Unlock()
	for _, socket := range reservations.sockets {
		socket.Close()
	}
	reservations.sockets = nil
}
