package audit

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/host/access"
)

const (
	// refusedPerSecond is the number of refused tokens per second that are logged and
	// written to the audit log, after a burst of refusedBurst. Further refusals are only
	// counted.
	refusedPerSecond = 1
	refusedBurst     = 20
	// failureInterval is the minimum time between two log lines about an audit log
	// that cannot be written.
	failureInterval = 10 * time.Second
)

// Recorder records decisions about clients. It implements access.Observer and is safe for
// concurrent use.
type Recorder struct {
	logger *slog.Logger
	log    *Log // nil for none

	authentications [results]atomic.Uint64
	authorizations  [results]atomic.Uint64
	events          atomic.Uint64
	failures        atomic.Uint64

	refused    *rate.Limiter
	suppressed atomic.Uint64
	report     rate.Sometimes
}

var _ access.Observer = (*Recorder)(nil)

// New returns a Recorder. The log may be nil.
func New(logger *slog.Logger, log *Log) *Recorder {
	return &Recorder{
		logger: logger, log: log,
		refused: rate.NewLimiter(refusedPerSecond, refusedBurst), report: rate.Sometimes{Interval: failureInterval},
	}
}

// Reopen reopens the file of the audit log after a rename.
func (r *Recorder) Reopen() error {
	if r.log == nil {
		return nil
	}
	return r.log.Reopen()
}

// Close closes the file of the audit log.
func (r *Recorder) Close() {
	if r.log == nil {
		return
	}
	if err := r.log.Close(); err != nil {
		r.logger.Error("the audit log cannot be closed", "error", err)
	}
}

// result classifies a decision.
type result uint8

const (
	accepted  result = iota
	refused          // 401, 403 and other refusals
	limited          // by a limit
	undecided        // the policy could not decide
	withdrawn        // an earlier grant was withdrawn
	results
)

var resultNames = [results]string{"accepted", "refused", "limited", "undecided", "withdrawn"}

func resultOf(c access.Client, status *api.Status) result {
	switch {
	case status == nil:
		return accepted
	case c.Renewal && access.Decided(status):
		return withdrawn
	case status.Code == api.CodeTooManyRequests || status.Code == api.CodeTooLarge:
		return limited
	case status.Code >= 500:
		return undecided
	}
	return refused
}

// Authenticated implements access.Observer.
func (r *Recorder) Authenticated(ctx context.Context, user *access.User, status *api.Status) {
	client := access.ClientOf(ctx)
	result := resultOf(client, status)
	if client.Renewal && result != withdrawn {
		return // already recorded, and still granted
	}
	r.authentications[result].Add(1)
	if status == nil {
		return
	}
	if !r.refused.Allow() {
		r.suppressed.Add(1)
		return
	}
	suppressed := r.suppressed.Swap(0)
	level, message := slog.LevelInfo, "token refused"
	if result == undecided {
		level, message = slog.LevelWarn, "token cannot be checked"
	}
	r.logger.Log(ctx, level, message, "remote", addressOf(client), "request", client.RequestID, "result", resultNames[result], "reason", status.Message, "suppressed", suppressed)
	r.write(&Event{
		Address: addressOf(client), RequestID: client.RequestID, Verb: "authenticate", Decision: "denied", Reason: status.Message,
		Review: client.Renewal, Suppressed: suppressed,
	})
}

// Authorized implements access.Observer.
func (r *Recorder) Authorized(ctx context.Context, user *access.User, request access.Request, status *api.Status) {
	client := access.ClientOf(ctx)
	result := resultOf(client, status)
	if client.Renewal && result != withdrawn {
		return
	}
	r.authorizations[result].Add(1)
	if r.log == nil {
		return
	}
	e := &Event{
		User: user.Name, Groups: user.Groups, Impersonator: user.Impersonator, Address: addressOf(client), RequestID: client.RequestID,
		Verb: request.Verb, Resource: request.Resource.String(), Namespace: request.Namespace, Name: request.Name,
		Decision: "allowed", Review: client.Renewal,
	}
	if e.Verb == "" {
		e.Verb = "list,watch"
	}
	if status != nil {
		e.Decision, e.Reason = "denied", status.Message
	}
	r.write(e)
}

func (r *Recorder) write(e *Event) {
	if r.log == nil {
		return
	}
	e.Time = time.Now().UTC()
	if err := r.log.write(e); err != nil {
		failures := r.failures.Add(1)
		r.report.Do(func() {
			r.logger.Error("an event of the audit log cannot be written and is lost", "error", err, "lost", failures)
		})
		return
	}
	r.events.Add(1)
}

// addressOf returns the address of a client, or "".
func addressOf(c access.Client) string {
	if !c.Address.IsValid() {
		return ""
	}
	return c.Address.String()
}

// Stats contains the counts of a Recorder. The results are "accepted", "refused",
// "limited" by a limit, "undecided" by the policy, and "withdrawn" after a grant.
type Stats struct {
	Authentications, Authorizations map[string]uint64 // by result
	Log                             bool              // whether there is an audit log
	Events, Failures                uint64            // lines written to the audit log, and lines lost
}

// Stats returns the current counts.
func (r *Recorder) Stats() Stats {
	byName := func(counts *[results]atomic.Uint64) map[string]uint64 {
		all := make(map[string]uint64, len(counts))
		for i := range counts {
			all[resultNames[i]] = counts[i].Load()
		}
		return all
	}
	return Stats{
		Authentications: byName(&r.authentications), Authorizations: byName(&r.authorizations),
		Log: r.log != nil, Events: r.events.Load(), Failures: r.failures.Load(),
	}
}
