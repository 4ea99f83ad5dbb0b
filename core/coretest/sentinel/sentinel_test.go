package sentinel_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/coretest/sentinel"
)

func TestPartsOfSentinelsAreFound(t *testing.T) {
	var s sentinel.Set
	a, b := s.Plant("a"), s.Plant("b")
	assert.Equal(t, a, s.Plant("a"))
	assert.NotEqual(t, a, b)
	for text, want := range map[string][]string{
		"":                                nil,
		"nothing":                         nil,
		a:                                 {"a"},
		b + a + b:                         {"a", "b"},
		"x" + a[3:13] + "x":               {"a"},
		"\x00" + b[14:]:                   {"b"},
		a[3:12]:                           nil,
		a[:9] + " " + a[9:18]:             nil,
		"zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz": nil,
	} {
		assert.Equal(t, want, s.Find([]byte(text)), "%q", text)
	}
	assert.Equal(t, []string{"b"}, s.Outside([]byte(a+b), func(name string) bool { return name == "a" }))
}

// Find identifies every object, even if two sentinels share a part by chance.
func TestEachSentinelIsFound(t *testing.T) {
	var s sentinel.Set
	texts := map[string]string{}
	for i := range 20_000 {
		name := fmt.Sprintf("v1/pods ns%d/p%d", i%7, i)
		texts[name] = s.Plant(name)
	}
	for name, text := range texts {
		require.Equal(t, []string{name}, s.Find([]byte(text)))
	}
}
