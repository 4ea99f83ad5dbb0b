package connector

import (
	"context"
	"errors"
	"time"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/host/source"
)

// run streams from the source to the collection until ctx is done or the schema changes. It
// runs in the goroutine of the upstream watch, which also processes all output of the
// source.
func (col *collection) run(ctx context.Context, decoder *decoder) {
	s := &sink{col: col, decoder: decoder}
	again := retry{probe: col.connector.probe}
	for ctx.Err() == nil {
		from := s.at
		col.update(func(int64) { col.totals.Streams++ })
		err := col.connector.config.Source.Stream(ctx, col.resource, from, s)
		if ctx.Err() != nil {
			return
		}
		var changed *source.SchemaChangedError
		if errors.As(err, &changed) {
			col.retire(changed)
			return
		}
		earliest := retryAfter(err)
		wait := max(again.pauses.Next(time.Now()), earliest)
		if expired(err) {
			s.at = 0
			if from != 0 { // relist immediately, unless a list expired
				wait = 0
			}
		}
		col.failed(err, s.at, wait)
		again.sleep(ctx, wait, earliest)
	}
}

// retryAfter returns the delay that the source requests, or 0 (rule R9).
func retryAfter(err error) time.Duration {
	var status *api.Status
	if !errors.As(err, &status) {
		return 0
	}
	return time.Duration(status.RetryAfterSeconds) * time.Second
}

func expired(err error) bool { return errors.Is(err, api.Expired("")) }

// failed records why the stream ended, for Stats and the log. The log includes the
// version from which the next stream resumes, or zero for a list.
func (col *collection) failed(err error, next api.ResourceVersion, wait time.Duration) {
	col.change(func(int64) {
		if !expired(err) {
			col.cacher.Upstream().Fail(col.failureStatus(err))
		}
		close(col.failure)
		col.failure = make(chan struct{})
		if col.status.failures++; col.status.failures == 1 {
			col.status.since = time.Now()
		}
		col.status.err = err
		col.totals.Failures++
		if expired(err) {
			col.totals.Expired++
		}
	})
	col.connector.config.Logger.Warn("upstream watch ended, retrying",
		"resource", col.resource.String(), "resourceVersion", next.String(), "within", wait, "error", err)
}

// failureStatus returns the status that describes an error of the source to readers that
// may read the entire resource.
func (col *collection) failureStatus(err error) *api.Status {
	if errors.Is(err, api.Forbidden("")) {
		return api.Forbidden(col.missingRight() + ": " + err.Error())
	}
	return api.Unavailable("the source of " + col.resource.String() + " has failed: " + err.Error())
}

func (col *collection) missingRight() string {
	return "the connector is not allowed to list and watch " + col.resource.String() + " in its cluster; grant it this right"
}

// denial returns a 403 while the source denies the connector the resource, and nil
// otherwise. The 403 omits the error text of the source, which names the account of the
// connector.
func (col *collection) denial() *api.Status {
	c := col.connector
	c.mu.Lock()
	defer c.mu.Unlock()
	if !errors.Is(col.status.err, api.Forbidden("")) {
		return nil
	}
	return api.Forbidden(col.missingRight() + ", the log of the connector has the details")
}

// nextFailure returns a channel that the collection closes when the source next fails.
func (col *collection) nextFailure() <-chan struct{} {
	c := col.connector
	c.mu.Lock()
	defer c.mu.Unlock()
	return col.failure
}

// recovered ends an outage, if any. It is called when the source has delivered data, not
// when a stream starts. The caller holds the lock.
func (col *collection) recovered() {
	if col.status.failures == 0 {
		return
	}
	col.connector.config.Logger.Info("upstream watch has recovered",
		"resource", col.resource.String(), "after", time.Since(col.status.since).Round(time.Millisecond))
	col.status = upstream{}
}
