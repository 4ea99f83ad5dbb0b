package main

import (
	"context"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// Two units that wait for each other complete only if they run at the same time.
func TestSuiteRunsUnitsInParallel(t *testing.T) {
	var units []unit
	met := [2]chan struct{}{make(chan struct{}), make(chan struct{})}
	for i, name := range []string{"a", "b"} {
		units = append(units, unit{name, func(ctx context.Context, _ io.Writer, each func(result)) error {
			close(met[i])
			select {
			case <-met[1-i]:
			case <-ctx.Done():
				return ctx.Err()
			}
			each(result{unit: name, test: "TestOfBoth", outcome: passed})
			return nil
		}})
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // only a failure takes as long
	defer cancel()
	got, _ := run(ctx, io.Discard, suite{name: "both", units: units, jobs: 2})
	assert.Equal(t, "2 passed, 0 failed", got.String())
}

// A suite without jobs runs one unit at a time, because its units may use the whole
// machine.
func TestSuiteRunsOneUnitAtATime(t *testing.T) {
	running := false
	one := func(_ context.Context, _ io.Writer, each func(result)) error {
		assert.False(t, running)
		running = true
		defer func() { running = false }()
		each(result{test: "Test", outcome: passed})
		return nil
	}
	got, _ := run(t.Context(), io.Discard, suite{name: "all", units: []unit{{"a", one}, {"b", one}, {"c", one}}})
	assert.Equal(t, "3 passed, 0 failed", got.String())
}
