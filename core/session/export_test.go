package session

// ControlBytes is the size of the answers that wait to be sent.
func (s *Session) ControlBytes() int { return len(s.control) }
