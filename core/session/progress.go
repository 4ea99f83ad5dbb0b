package session

import (
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/wire"
)

// stalePeriods is the number of progress periods without progress after which a reader
// considers its data stale.
const stalePeriods = 3

// confirmation is a progress report from the source. At the time confirmedAt, the connector
// had every change up to the version rv.
type confirmation struct {
	rv          api.ResourceVersion
	confirmedAt int64
}

// appendProgress reports the version of a live subscription at the configured interval.
// It sends Progress if the source has confirmed everything that was sent. If the
// connector is disconnected or its source lags, the reader must not consider its data
// current. In that case appendProgress sends an Events frame without events. This frame
// advances the version for readers that wait for it or will resume from it.
func (s *subscription) appendProgress(message []byte) []byte {
	now, period := s.session.now, s.session.cfg.ProgressMillis
	if s.phase != live || now < s.nextReport() {
		return message
	}
	sent := s.confirmed()
	switch {
	case sent.confirmedAt > s.progressed && now < sent.confirmedAt+stalePeriods*period:
		s.rv, s.progressed, s.reported = sent.rv, sent.confirmedAt, now
		return (&wire.Progress{Subscription: s.id, ResourceVersion: s.rv}).Append(message)
	case sent.rv > s.rv && s.credit > 0 && now >= s.moves:
		s.rv, s.moves = sent.rv, now+period
		return s.charge(message, (&wire.Events{Subscription: s.id, ResourceVersion: s.rv}).Append(message))
	}
	return message
}

// confirmed returns the version of the reader, and the time at which the source last
// confirmed everything up to that version. For a reader that is always slightly behind,
// confirmed uses an earlier confirmation that the reader has since reached.
func (s *subscription) confirmed() confirmation {
	all := confirmation{s.cacher.ResourceVersion(), s.cacher.Upstream().Progressed()}
	if s.caughtUp() {
		return all
	}
	if s.awaited.confirmedAt <= s.progressed {
		s.awaited = all
	}
	if s.rv < s.awaited.rv {
		return confirmation{rv: s.rv}
	}
	return confirmation{s.rv, s.awaited.confirmedAt}
}

// nextReport returns the earliest time of the next progress report; zero means now.
func (s *subscription) nextReport() int64 {
	if s.reported == 0 {
		return 0
	}
	return s.reported + s.session.cfg.ProgressMillis
}

// appendSourceError sends a SourceError with the reason why the subscription makes no
// progress, and repeats it every period. While the initial list is in progress, it sends
// a SourceError without a reason.
func (s *subscription) appendSourceError(message []byte) []byte {
	status := s.cacher.Upstream().Failure()
	if !s.waits() {
		if s.sourceError != nil {
			s.reported = 0 // report progress immediately
		}
		s.sourceErrorSent, s.sourceError = 0, nil
		return message
	}
	if s.sourceErrorSent == 0 && status == nil {
		s.sourceErrorSent = s.session.now // the first period starts now
	}
	if status != s.sourceError || s.session.now >= s.sourceErrorSent+s.session.cfg.ProgressMillis {
		s.sourceErrorSent, s.sourceError = s.session.now, status
		message = (&wire.SourceError{Subscription: s.id, Status: s.disclosable(status)}).Append(message)
	}
	return message
}

// disclosable returns the status of the source. If the subscription does not cover all
// objects, disclosable replaces the message, which may name an object outside the scope.
func (s *subscription) disclosable(status *api.Status) *api.Status {
	if status == nil || s.filter.Scope().Whole() {
		return status
	}
	return &api.Status{
		Code: status.Code, Reason: status.Reason, RetryAfterSeconds: status.RetryAfterSeconds,
		Message: "the source of " + s.resource.String() + " fails; the reason is withheld from readers with a restricted scope, see the log of the connector",
	}
}

func (s *subscription) waits() bool { return s.cacher.Upstream().Failure() != nil || !s.cacher.Ready() }

// await registers the subscription for the update that it must report next. If the source
// confirms no progress, changes that do not match the selectors wake the reader at most
// once per period.
func (s *subscription) await() {
	now := s.session.now
	switch {
	case s.phase == opening:
		s.follower.NotifyNext()
	case !s.caughtUp() || now < s.nextReport():
	case now < s.moves || s.credit <= 0:
		s.follower.NotifyOnProgress()
	default:
		s.follower.NotifyNext()
	}
}

// wake returns the time at which the subscription has something to send even without a
// change, or zero if there is no such time.
func (s *subscription) wake() int64 {
	var at, again int64
	now := s.session.now
	switch {
	case s.phase == opening:
		if !s.filter.Exhausted() {
			at = s.deadline
		}
	case !s.caughtUp():
	case now < s.nextReport():
		at = s.nextReport() // progress before that time causes no wake-up
	case now < s.moves:
		at = s.moves // changes before that time may have caused no wake-up
	}
	if s.waits() {
		again = s.sourceErrorSent + s.session.cfg.ProgressMillis
	}
	if at == 0 || again != 0 && again < at {
		return again
	}
	return at
}
