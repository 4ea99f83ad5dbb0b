// Package cells formats table cells like kubectl.
package cells

import (
	"math"
	"strconv"
	"time"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/host/internal/age"
)

// Text formats a value of a column. It formats a date as its age at the time now,
// which is in milliseconds since the epoch. For a missing value, it returns the
// default of the column.
func Text(c *api.Column, v api.Value, now int64) string {
	switch v.Kind {
	case api.Null:
		return c.Default
	case api.Integer:
		text := strconv.FormatInt(v.Int, 10)
		if v.Time != 0 {
			text += " (" + since(v.Time, now) + " ago)"
		}
		return text
	case api.Number:
		if math.IsNaN(v.Float) || math.IsInf(v.Float, 0) {
			return c.Default
		}
	case api.Date:
		return since(v.Int, now)
	case api.Duration:
		return age.String(time.Duration(v.Int) * time.Millisecond)
	case api.String:
		if v.Text == "" {
			return c.Default
		}
	}
	return v.String()
}

func since(millis, now int64) string {
	return age.String(time.Duration(now-millis) * time.Millisecond)
}
