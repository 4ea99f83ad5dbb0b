package session

// tryBlock sends no blocks: the module has no encoder.
func (s *subscription) tryBlock(message []byte) ([]byte, bool) { return message, false }
