package session

// ControlBytes returns the size of the responses that wait to be sent.
func (s *Session) ControlBytes() int { return len(s.control) }
