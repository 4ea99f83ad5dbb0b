package limit

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
)

func TestTableIsComplete(t *testing.T) {
	seen := map[string]bool{}
	for _, l := range All() {
		assert.Regexp(t, `^[a-z]+(-[a-z]+)*$`, l.Name)
		assert.False(t, seen[l.Name], "%s is defined twice", l.Name)
		seen[l.Name] = true
		assert.NotEmpty(t, l.Help, l.Name)
		assert.Positive(t, l.Default, l.Name)
		assert.Contains(t, []int{0, 408, 413, 429, 431, 503}, l.Code, l.Name)
	}
	require.NotEmpty(t, seen)
}

func TestRefusalNamesTheLimitAndIsCounted(t *testing.T) {
	s := NewSet().With(MaxReaders, 7)
	require.EqualValues(t, 7, s.Value(MaxReaders))

	status := s.Refuse(MaxReaders, "too many readers")
	assert.Equal(t, "too many readers (limit: max-readers)", status.Message)
	assert.Equal(t, 429, status.Code)
	assert.Equal(t, 1, status.RetryAfterSeconds)
	assert.EqualValues(t, 1, s.Refusals(MaxReaders))

	s.CountStatus(status)
	s.CountStatus(api.BadRequest("something else"))
	s.CountStatus(nil)
	assert.EqualValues(t, 2, s.Refusals(MaxReaders))
}

func TestNilSetHasDefaults(t *testing.T) {
	var s *Set
	assert.Equal(t, MaxReaders.Default, s.Value(MaxReaders))
	assert.Equal(t, "max-readers", s.Refuse(MaxReaders, "too many readers").Cause)
	assert.Zero(t, s.Refusals(MaxReaders))
}

// If the size of the memory is not known, Format returns "unlimited" instead of a size.
func TestUnlimitedMemoryIsNotASize(t *testing.T) {
	assert.Equal(t, "unlimited", Format(Bytes, MaxMemory.Default))
	assert.Equal(t, "4294967295GiB", Format(Bytes, MaxMemory.Default-1<<30))
	_, err := Parse(Bytes, "unlimited")
	assert.ErrorContains(t, err, "expected a positive size", "no flag removes a limit")
}

func TestFormatAndParseAgree(t *testing.T) {
	for _, c := range []struct {
		unit  Unit
		value int64
		text  string
	}{
		{Count, 10_000, "10000"}, {Bytes, 3 << 19, "1536KiB"}, {Bytes, 1 << 20, "1MiB"}, {Bytes, 17, "17B"},
		{Bytes, 5 << 30, "5GiB"}, {Duration, int64(90 * time.Second), "1m30s"},
	} {
		assert.Equal(t, c.text, Format(c.unit, c.value))
		got, err := Parse(c.unit, c.text)
		require.NoError(t, err)
		assert.Equal(t, c.value, got)
	}
	for text, unit := range map[string]Unit{"": Count, "0": Count, "-1": Count, "1e9": Count, "4KB": Bytes, "9999999999GiB": Bytes, "-1B": Bytes, "5": Duration, "0s": Duration} {
		_, err := Parse(unit, text)
		assert.ErrorContains(t, err, "expected a", text)
	}
}
