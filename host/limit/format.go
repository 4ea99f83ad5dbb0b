package limit

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

var byteUnits = []struct {
	suffix string
	size   int64
}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"B", 1}}

// Format formats a value in the syntax of Parse. A size of Unlimited becomes "unlimited",
// which Parse rejects.
func Format(u Unit, value int64) string {
	switch u {
	case Duration:
		return time.Duration(value).String()
	case Bytes:
		if value == Unlimited {
			return "unlimited"
		}
		for _, b := range byteUnits {
			if value >= b.size && value%b.size == 0 {
				return strconv.FormatInt(value/b.size, 10) + b.suffix
			}
		}
	}
	return strconv.FormatInt(value, 10)
}

// Parse parses a positive value, such as "10000", "16KiB" or "1m30s".
func Parse(u Unit, text string) (int64, error) {
	switch u {
	case Duration:
		d, err := time.ParseDuration(text)
		if err != nil || d <= 0 {
			return 0, fmt.Errorf("%q: expected a positive duration such as 30s or 1m30s", text)
		}
		return int64(d), nil
	case Bytes:
		size := int64(1)
		digits := text
		for _, b := range byteUnits {
			if rest, ok := strings.CutSuffix(text, b.suffix); ok {
				digits, size = rest, b.size
				break
			}
		}
		n, err := strconv.ParseInt(digits, 10, 64)
		if err != nil || n <= 0 || n > math.MaxInt64/size {
			return 0, fmt.Errorf("%q: expected a positive size such as 512KiB, 16MiB or 2GiB", text)
		}
		return n * size, nil
	}
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n <= 0 {
		return 0, fmt.Errorf("%q: expected a whole number from 1 to %d", text, math.MaxInt32)
	}
	return n, nil
}
