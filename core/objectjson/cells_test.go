package objectjson

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
)

// columnsOf returns a scanner with one String column per path, and the cells that the
// scanner computes for the given object.
func columnsOf(t *testing.T, kind, json string, paths ...string) (*Scanner, []api.Value) {
	schema := &api.Schema{Kind: kind}
	for _, path := range paths {
		schema.Columns = append(schema.Columns, api.Column{Name: path, Kind: api.String, Path: path})
	}
	s, err := NewScanner(schema)
	require.NoError(t, err)
	cells, err := s.Cells([]byte(json))
	require.NoError(t, err)
	return s, cells
}

func TestChosenTextsAreCutWithinTheirLimit(t *testing.T) {
	for text, expected := range map[string]string{
		strings.Repeat("x", 1024):                          strings.Repeat("x", 1024),
		strings.Repeat("x", 1025):                          strings.Repeat("x", 1021) + "…",
		strings.Repeat("x", 100_000):                       strings.Repeat("x", 1021) + "…",
		strings.Repeat("é", 512):                           strings.Repeat("é", 512),
		strings.Repeat("é", 513):                           strings.Repeat("é", 510) + "…",
		"x" + strings.Repeat("é", 512):                     "x" + strings.Repeat("é", 510) + "…",
		strings.Repeat("x", 1019) + "\U0001f600\U0001f600": strings.Repeat("x", 1019) + "…",
	} {
		s, o := columnsOf(t, "Pod", fmt.Sprintf(`{"metadata":{"name":"a"},"a":%q,"b":"short"}`, text), ".b", ".a", ".b")
		require.LessOrEqual(t, len(expected), MaxText)
		assert.Equal(t, []string{"short", expected, "short"}, []string{o[0].Text, o[1].Text, o[2].Text})
		assert.LessOrEqual(t, cap(s.texts.bytes), maxTexts)
		assert.Empty(t, s.body.out)
	}
	_, o := columnsOf(t, "Pod", `{"metadata":{"name":"a"},"a":[`+strings.Repeat(`"12345678",`, 200)+`1]}`, ".a[*]")
	assert.True(t, strings.HasSuffix(o[0].Text, "12345678,1234…"), o[0].Text)
}

func TestTooManyResultsOfChosenColumnsYieldNull(t *testing.T) {
	for n, null := range map[int]bool{8000: false, 8200: true, 100_000: true} {
		json := `{"a":[` + strings.Repeat(`1,`, n-1) + `1],"b":"x","metadata":{"name":"a","uid":"u"}}`
		s, o := columnsOf(t, "Pod", json, ".b", ".a[*]")
		assert.Equal(t, null, o[0].Kind == api.Null)
		assert.Equal(t, null, o[1].Kind == api.Null)
		assert.Equal(t, "u", s.object.UID)
		assert.Less(t, len(s.captures), maxResults+10)
	}
}

func TestChosenColumnsDoNotShowTheDataOfSecrets(t *testing.T) {
	json := `{"metadata":{"name":"a","annotations":{"` + lastApplied + `":"s3cret"}},"data":{"x":"s3cret"},"stringData":{"x":"s3cret"},"type":"t"}`
	_, o := columnsOf(t, "Secret", json, ".data.x", ".stringData.x", ".metadata.annotations['"+lastApplied+"']", ".type")
	for i := range 3 {
		assert.Equal(t, api.Null, o[i].Kind)
	}
	assert.Equal(t, "t", o[3].Text)
}
