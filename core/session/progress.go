package session

import "github.com/watchglass/watchglass/core/wire"

// stalePeriods without progress make a reader call its data stale.
const stalePeriods = 3

// appendProgress says how far a live subscription is, at the configured pace,
// provided the collection itself has been heard of since: a connector that is
// cut off from its source must not make its readers believe in their data.
func (s *subscription) appendProgress(message []byte) []byte {
	if !s.progressDue() || s.session.now < s.nextReport() {
		return message
	}
	s.rv, s.progressed, s.reported = s.cacher.ResourceVersion(), s.cacher.Progressed(), s.session.now
	return (&wire.Progress{Subscription: s.id, ResourceVersion: s.rv}).Append(message)
}

// nextReport is when the subscription may say next how far it is.
func (s *subscription) nextReport() int64 {
	if s.reported == 0 {
		return 0
	}
	return s.reported + s.session.cfg.ProgressMillis
}

// progressDue: there is news of the source, and not from so long ago that the
// reader would have to call it stale.
func (s *subscription) progressDue() bool {
	heard := s.cacher.Progressed()
	news := heard > s.progressed || s.cacher.ResourceVersion() > s.rv
	return s.caughtUp() && news && s.session.now < heard+stalePeriods*s.session.cfg.ProgressMillis
}

// appendExcuse tells a reader that has to wait what for, and again every period.
// That the collection is being listed for the first time is an excuse, too.
func (s *subscription) appendExcuse(message []byte) []byte {
	status := s.cacher.Failure()
	if !s.waits() {
		if s.excuse != nil {
			s.reported = 0 // the reader hears at once that it is over
		}
		s.excused, s.excuse = 0, nil
		return message
	}
	if s.excused == 0 && status == nil {
		s.excused = s.session.now // and the first period counts from here
	}
	if status != s.excuse || s.session.now >= s.excused+s.session.cfg.ProgressMillis {
		s.excused, s.excuse = s.session.now, status
		message = (&wire.SourceError{Subscription: s.id, Status: status}).Append(message)
	}
	return message
}

func (s *subscription) waits() bool { return s.cacher.Failure() != nil || !s.cacher.Ready() }

// wake is when the subscription has something to say without a change.
func (s *subscription) wake() int64 {
	var at, again int64
	if s.phase == opening {
		at = s.deadline
	} else if s.caughtUp() && s.session.now < s.nextReport() {
		at = s.nextReport() // by then there may be news, of which nothing else tells
	}
	if s.waits() {
		again = s.excused + s.session.cfg.ProgressMillis
	}
	if at == 0 || again != 0 && again < at {
		return again
	}
	return at
}
