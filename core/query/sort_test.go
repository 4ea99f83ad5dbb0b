package query_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/coretest/objects"
	"github.com/watchglass/watchglass/core/query"
)

func schema() *api.Schema {
	s := objects.Pods()
	s.Columns = append(s.Columns,
		api.Column{Name: "Last Seen", Kind: api.Date, Path: ".lastTimestamp"},
		api.Column{Name: "A, B", Kind: api.String, Path: ".metadata.annotations.example\\.io/team"},
		api.Column{Name: "Tier", Kind: api.String, Path: ".metadata.annotations['tier']"},
	)
	return &s
}

func TestSortKeysAreParsed(t *testing.T) {
	type key struct {
		descending, nullsFirst, lexical bool
	}
	for source, want := range map[string][]key{
		"":                               nil,
		" ":                              nil,
		"name":                           {{false, true, false}},
		"-restarts":                      {{true, false, false}},
		" -restarts ,name":               {{true, false, false}, {false, true, false}},
		"-restarts nulls first,phase":    {{true, true, false}, {false, true, false}},
		"phase nulls last":               {{false, false, false}},
		"name lexical NULLS LAST":        {{false, false, true}},
		"-name lexical":                  {{true, false, true}},
		"Last Seen":                      {{true, false, false}},
		"-last seen nulls last":          {{false, false, false}},
		`"A, B",-"phase"`:                {{false, true, false}, {true, false, false}},
		"labels[app.kubernetes.io/name]": {{false, true, false}},
		"metadata.labels[app]":           {{false, true, false}},
		"annotations[example.io/team]":   {{false, true, false}},
		"metadata.annotations[tier]":     {{false, true, false}},
	} {
		sort, status := query.ParseSort(schema(), source)
		require.Nil(t, status, source)
		var got []key
		for _, k := range sort.Keys {
			got = append(got, key{k.Descending, k.NullsFirst, k.Lexical})
		}
		require.Equal(t, want, got, source)
	}
	sort, status := query.ParseSort(schema(), "-")
	require.Nil(t, status)
	require.Equal(t, query.Sort{Reversed: true}, sort)
}

func TestSortErrorsSuggestAName(t *testing.T) {
	for source, want := range map[string]string{
		"restart":             `cannot sort v1/pods by "restart": there is no such column or field; did you mean Restarts? there are Name, `,
		"name,-phas":          "did you mean Phase?",
		"name,":               `cannot sort v1/pods by ""`,
		"--name":              `by "-name"`,
		"annotations[colour]": "there is no column that shows this annotation",
		"labels[]":            `by "labels[]"`,
		"nulls first":         `by "nulls first"`,
		"colour":              `by "colour": there is no such column or field; there are Name, `,
	} {
		_, status := query.ParseSort(schema(), source)
		require.NotNil(t, status, source)
		require.Equal(t, 400, status.Code)
		require.Contains(t, status.Message, want)
	}
}

func TestSortHasAtMostEightKeys(t *testing.T) {
	_, status := query.ParseSort(schema(), strings.Repeat("name,", 7)+"phase")
	require.Nil(t, status)
	_, status = query.ParseSort(schema(), strings.Repeat("name,", 8)+"phase")
	require.Equal(t, 413, status.Code)
	require.Equal(t, query.LimitSortKeys, status.Cause)
}
