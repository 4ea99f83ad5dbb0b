package selector_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/selector"
)

// repeated returns n terms made from a pattern, joined by commas.
func repeated(n int, pattern string) string {
	terms := make([]string, n)
	for i := range terms {
		terms[i] = strings.ReplaceAll(pattern, "#", strconv.Itoa(i))
	}
	return strings.Join(terms, ",")
}

func TestExceededLimitIsNamedInTheError(t *testing.T) {
	limits := selector.Limits{Bytes: 200, Requirements: 5, Values: 8}
	for _, c := range []struct {
		name, labels, fields, want string
	}{
		{"nothing", "", "", ""},
		{"as many bytes as allowed", "a=" + strings.Repeat("b", 60), repeated(1, "f="+strings.Repeat("v", 136)), ""},
		{"one byte too many", "a=" + strings.Repeat("b", 60), repeated(1, "f="+strings.Repeat("v", 137)), selector.LimitBytes},
		{"what does not parse is not parsed if it is too long", strings.Repeat("=", 201), "", selector.LimitBytes},
		{"as many requirements as allowed", "a,b", repeated(3, "f!=#"), ""},
		{"too many field terms", "a,b", repeated(4, "f!=#"), selector.LimitRequirements},
		{"too many label requirements", repeated(6, "k#"), "", selector.LimitRequirements},
		{"terms that say nothing", "", repeated(6, "="), ""},
		{"as many values as allowed", "a in (" + repeated(7, "v#") + "),b=1", "", ""},
		{"too many values", "a in (" + repeated(7, "v#") + "),b notin (x,y)", "", selector.LimitValues},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, status := limits.Parse(c.labels, c.fields)
			if c.want == "" {
				require.Nil(t, status)
				return
			}
			require.NotNil(t, status)
			assert.Equal(t, 413, status.Code)
			assert.Equal(t, api.ReasonTooLarge, status.Reason)
			assert.Equal(t, c.want, status.Cause)
			assert.Contains(t, status.Message, c.want)
			assert.Less(t, len(status.Message), 300)
		})
	}
}

func TestParseReadsBothSelectors(t *testing.T) {
	var unlimited selector.Limits
	s, status := unlimited.Parse("app in (web,db),tier", "status.phase!=Failed")
	require.Nil(t, status)
	assert.Equal(t, "app in (db,web),tier", s.Labels.String())
	assert.Equal(t, "status.phase!=Failed", s.Fields.String())
	assert.Equal(t, 4, s.Cost(), "two values, a requirement without values and a field")
	assert.Zero(t, selector.Selection{}.Cost())

	for _, c := range [][2]string{{"app in web", ""}, {"", "status.phase"}} {
		_, status := unlimited.Parse(c[0], c[1])
		require.NotNil(t, status)
		assert.Equal(t, 400, status.Code)
	}
	_, status = unlimited.Parse(repeated(10_000, "k#"), repeated(10_000, "f!=#"))
	assert.Nil(t, status)
}

// The cost per object depends on the number of fields in the selector, not on the
// number of terms.
func TestBoundFieldsReadEachFieldOnce(t *testing.T) {
	names := []string{"metadata.name", "spec.nodeName", "status.phase"}
	f := parseFields(t, repeated(5000, "status.phase!=p#")+","+repeated(5000, "metadata.name!=n#"))
	bound, err := f.Bind(names)
	require.NoError(t, err)
	asked := 0
	values := func(i int) string {
		asked++
		return []string{"web", "node", "Running"}[i]
	}
	assert.True(t, bound.Matches(values))
	assert.Equal(t, 2, asked)
	assert.Equal(t, 2, bound.Len())

	for text, want := range map[string]bool{
		"status.phase=Running,status.phase=Failed":  false,
		"status.phase=Running,status.phase=Running": true,
		"status.phase=Running,status.phase!=Failed": true,
		"status.phase!=Failed,status.phase!=Ready":  true,
		"status.phase!=Failed,status.phase=Failed":  false,
		"status.phase!=Running,status.phase!=A":     false,
	} {
		bound, err := parseFields(t, text).Bind(names)
		require.NoError(t, err)
		asked = 0
		assert.Equal(t, want, bound.Matches(values), text)
		assert.LessOrEqual(t, asked, 1, text)
	}
}
