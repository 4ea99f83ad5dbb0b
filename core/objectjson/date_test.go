package objectjson_test

import (
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/watchglass/watchglass/core/objectjson"
)

// rfc3339 matches only RFC 3339. It rejects other forms that time.Parse accepts: hours of
// one digit, fractions after a comma, and zones beyond a day.
var rfc3339 = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`)

// dumbDate parses a timestamp with the standard library.
func dumbDate(text string) (millis int64, ok bool) {
	t, err := time.Parse(time.RFC3339, text)
	return t.UnixMilli(), err == nil && rfc3339.MatchString(text)
}

func TestParseDate(t *testing.T) {
	for text, valid := range map[string]bool{
		"1970-01-01T00:00:00Z":                true,
		"1969-12-31T23:59:59.999Z":            true,
		"1969-12-31T23:59:59.0009Z":           true,
		"0000-01-01T00:00:00Z":                true,
		"9999-12-31T23:59:59.999999999-23:59": true,
		"2000-02-29T12:00:00+14:00":           true,
		"2026-10-01T12:00:00.25+02:00":        true,
		"2026-10-01T12:00:00.123456Z":         true,
		"1900-02-29T12:00:00Z":                false,
		"2026-04-31T12:00:00Z":                false,
		"2026-13-01T12:00:00Z":                false,
		"2026-00-01T12:00:00Z":                false,
		"2026-01-00T12:00:00Z":                false,
		"2026-01-01T24:00:00Z":                false,
		"2026-01-01T23:60:00Z":                false,
		"2026-06-30T23:59:60Z":                false,
		"2026-01-01T1:00:00Z":                 false,
		"2026-01-01T01:00:00.Z":               false,
		"2026-01-01T01:00:00,5Z":              false,
		"2026-01-01T01:00:00":                 false,
		"2026-01-01T01:00:00z":                false,
		"2026-01-01t01:00:00Z":                false,
		"2026-01-01 01:00:00Z":                false,
		"2026-01-01T01:00:00+0100":            false,
		"2026-01-01T01:00:00+24:00":           false,
		"2026-01-01T01:00:00*01:00":           false,
		"2026-01-01T01:00:00ZZ":               false,
		"+026-01-01T01:00:00Z":                false,
		"":                                    false,
	} {
		want, ok := dumbDate(text)
		assert.Equal(t, valid, ok, text)
		got, ok := objectjson.ParseDate([]byte(text))
		assert.Equal(t, valid, ok, text)
		if ok {
			assert.Equal(t, want, got, text)
		}
	}
}

// DaysSinceEpoch agrees with package time on every day of the years 0 to 2499.
func TestDaysSinceEpoch(t *testing.T) {
	day := time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC)
	for ; day.Year() < 2500; day = day.AddDate(0, 0, 1) {
		if got := objectjson.DaysSinceEpoch(day.Year(), int(day.Month()), day.Day()); int64(got)*86400 != day.Unix() {
			t.Fatalf("%s: %d", day, got)
		}
	}
}

func FuzzParseDate(f *testing.F) {
	f.Add("2026-10-01T12:00:00.25+02:00")
	f.Add("2024-02-29T23:59:59Z")
	f.Fuzz(func(t *testing.T, text string) {
		want, wantOK := dumbDate(text)
		got, ok := objectjson.ParseDate([]byte(text))
		if ok != wantOK || ok && got != want {
			t.Fatalf("%q: got %d %v, want %d %v", text, got, ok, want, wantOK)
		}
	})
}
