// Package age formats ages like kubectl.
package age

import (
	"strconv"
	"time"
)

// String formats an age as "45s", "3m20s", "5d6h" or "2y". Like kubectl, it appends a
// smaller unit only while the first number is small.
func String(age time.Duration) string {
	seconds := int(age / time.Second)
	minutes, hours := seconds/60, seconds/3600
	days := hours / 24
	switch {
	case seconds < -1:
		return "<invalid>"
	case seconds <= 0:
		return "0s"
	case seconds < 2*60:
		return units(seconds, "s", 0, "")
	case minutes < 10:
		return units(minutes, "m", seconds%60, "s")
	case minutes < 3*60:
		return units(minutes, "m", 0, "")
	case hours < 8:
		return units(hours, "h", minutes%60, "m")
	case hours < 2*24:
		return units(hours, "h", 0, "")
	case days < 8:
		return units(days, "d", hours%24, "h")
	case days < 2*365:
		return units(days, "d", 0, "")
	case days < 8*365:
		return units(days/365, "y", days%365, "d")
	}
	return units(days/365, "y", 0, "")
}

func units(a int, unit string, b int, smaller string) string {
	text := strconv.Itoa(a) + unit
	if b == 0 {
		return text
	}
	return text + strconv.Itoa(b) + smaller
}
