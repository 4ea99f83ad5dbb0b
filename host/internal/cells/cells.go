// Package cells formats table cells like kubectl.
package cells

import (
	"math"
	"time"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/host/internal/age"
)

// Text formats a value of a column. It formats a date, and the time of a text or a count, as
// its age at the time now, which is in milliseconds since the epoch. For a missing value, it
// returns the default of the column.
func Text(c *api.Column, v api.Value, now int64) string {
	switch v.Kind {
	case api.Null:
		return c.Default
	case api.Integer:
		if v.Time != 0 {
			return timed(api.Value{Text: v.String(), Time: v.Time}, now)
		}
	case api.Number:
		if math.IsNaN(v.Float) || math.IsInf(v.Float, 0) {
			return c.Default
		}
	case api.Date:
		return since(v.Int, now)
	case api.Duration:
		return age.String(time.Duration(v.Int) * time.Millisecond)
	case api.String:
		switch {
		case v.Time != 0:
			return timed(v, now)
		case v.Text == "":
			return c.Default
		}
	}
	return v.String()
}

// timed formats a text that has a time.
func timed(v api.Value, now int64) string {
	switch {
	case v.Text != "":
		return v.Text + " (" + since(v.Time, now) + " ago)"
	case v.Time > now:
		return "in " + since(now, v.Time)
	}
	return since(v.Time, now) + " ago"
}

func since(millis, now int64) string {
	return age.String(time.Duration(now-millis) * time.Millisecond)
}
