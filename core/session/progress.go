package session

import (
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/wire"
)

// stalePeriods without progress make a reader call its data stale.
const stalePeriods = 3

// vouch is what the source said of the collection: at the time when that was
// heard, nothing was missing up to rv.
type vouch struct {
	rv    api.ResourceVersion
	heard int64
}

// appendProgress says how far a live subscription is, at the configured pace. It is
// progress when the source has vouched for what was sent: a connector that is cut off
// from its source, or whose source lags behind, must not make its readers believe in
// their data. Where the source has not, a frame without events moves the version, for
// those who wait for it or will resume from it.
func (s *subscription) appendProgress(message []byte) []byte {
	now, period := s.session.now, s.session.cfg.ProgressMillis
	if s.phase != live || now < s.nextReport() {
		return message
	}
	sent := s.vouched()
	switch {
	case sent.heard > s.progressed && now < sent.heard+stalePeriods*period:
		s.rv, s.progressed, s.reported = sent.rv, sent.heard, now
		return (&wire.Progress{Subscription: s.id, ResourceVersion: s.rv}).Append(message)
	case sent.rv > s.rv && s.credit > 0 && now >= s.moves:
		s.rv, s.moves = sent.rv, now+period
		return s.charge(message, &wire.Events{Subscription: s.id, ResourceVersion: s.rv})
	}
	return message
}

// vouched is how far the reader is, and when the source last vouched for all of
// that. A reader that is always a little behind is not measured by what came since
// it was last looked at, but by what had come then.
func (s *subscription) vouched() vouch {
	all := vouch{s.cacher.ResourceVersion(), s.cacher.Progressed()}
	if s.caughtUp() {
		return all
	}
	if s.awaited.heard <= s.progressed {
		s.awaited = all
	}
	if s.rv < s.awaited.rv {
		return vouch{rv: s.rv}
	}
	return vouch{s.rv, s.awaited.heard}
}

// nextReport is when the subscription may say next how far it is.
func (s *subscription) nextReport() int64 {
	if s.reported == 0 {
		return 0
	}
	return s.reported + s.session.cfg.ProgressMillis
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
		message = (&wire.SourceError{Subscription: s.id, Status: s.disclosable(status)}).Append(message)
	}
	return message
}

// disclosable returns the status of the source without its text if the subscription
// does not cover all objects: a source's error may name any of them.
func (s *subscription) disclosable(status *api.Status) *api.Status {
	if status == nil || s.filter.Scope().Whole() {
		return status
	}
	return &api.Status{
		Code: status.Code, Reason: status.Reason, RetryAfterSeconds: status.RetryAfterSeconds,
		Message: "the source of " + s.resource.String() + " fails: the reason is withheld from readers of a part of them, see the log of the connector",
	}
}

func (s *subscription) waits() bool { return s.cacher.Failure() != nil || !s.cacher.Ready() }

// await sees to it that the subscription is woken by what it has to speak of next,
// and by nothing else: where the source does not vouch, no change wakes those whom it
// does not concern but the first of a period.
func (s *subscription) await() {
	now := s.session.now
	switch {
	case s.phase == opening:
		s.follower.AwaitNews()
	case !s.caughtUp() || now < s.nextReport():
	case now < s.moves || s.credit <= 0:
		s.follower.AwaitProgress()
	default:
		s.follower.AwaitNews()
	}
}

// wake is when the subscription has something to say without a change.
func (s *subscription) wake() int64 {
	var at, again int64
	now := s.session.now
	switch {
	case s.phase == opening:
		at = s.deadline
	case !s.caughtUp():
	case now < s.nextReport():
		at = s.nextReport() // by then there may be news, of which nothing else tells
	case now < s.moves:
		at = s.moves // by then there may be changes that nobody told of
	}
	if s.waits() {
		again = s.excused + s.session.cfg.ProgressMillis
	}
	if at == 0 || again != 0 && again < at {
		return again
	}
	return at
}
