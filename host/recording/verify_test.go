package recording_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/sim/check"
	"github.com/watchglass/watchglass/host/recording"
)

// source is a recording of the source. The objects a and b exist at version 10, and a
// changes at 11 and 14. At 12, c is created and b changes. At 13, b is deleted.
const source = `{"kind":"history","time":"2026-01-01T00:00:00Z","version":3,"resource":"v1/pods"}
{"kind":"cluster","time":"2026-01-01T00:00:00Z","clusterID":"etcd-1"}
{"kind":"state","time":"2026-01-01T00:00:00Z","resourceVersion":"10","objects":[{"key":"ns/a","uid":"a","resourceVersion":"9","labels":{"app":"web"}},{"key":"ns/b","uid":"b","resourceVersion":"7","labels":{"app":"db"}}]}
{"kind":"change","time":"2026-01-01T00:00:01Z","resourceVersion":"11","key":"ns/a","object":{"uid":"a","resourceVersion":"11","labels":{"app":"web","v":"2"}}}
{"kind":"change","time":"2026-01-01T00:00:02Z","resourceVersion":"12","key":"ns/b","object":{"uid":"b","resourceVersion":"12","labels":{"app":"db","v":"2"}}}
{"kind":"change","time":"2026-01-01T00:00:02Z","resourceVersion":"12","key":"ns/c","object":{"uid":"c","resourceVersion":"12"}}
{"kind":"change","time":"2026-01-01T00:00:03Z","resourceVersion":"13","key":"ns/b"}
{"kind":"change","time":"2026-01-01T00:00:04Z","resourceVersion":"14","key":"ns/a","object":{"uid":"a","resourceVersion":"14","labels":{"app":"web","v":"3"}}}
{"kind":"progress","time":"2026-01-01T00:00:05Z","resourceVersion":"20"}
{"kind":"end","time":"2026-01-01T00:00:06Z","lines":10}
`

// reader is a correct recording of a reader without relists.
const reader = `{"kind":"history","time":"2026-01-01T00:00:00Z","version":3,"resource":"v1/pods"}
{"kind":"subscribe","time":"2026-01-01T00:00:00Z","scope":{}}
{"kind":"cluster","time":"2026-01-01T00:00:00Z","clusterID":"etcd-1"}
{"kind":"snapshot","time":"2026-01-01T00:00:00Z","scope":{},"resourceVersion":"10"}
{"kind":"list","time":"2026-01-01T00:00:00Z","scope":{},"resourceVersion":"10","objects":[{"key":"ns/a","uid":"a","resourceVersion":"9","labels":{"app":"web"}},{"key":"ns/b","uid":"b","resourceVersion":"7","labels":{"app":"db"}}]}
{"kind":"watch","time":"2026-01-01T00:00:00Z","watch":1,"scope":{},"start":"version","resourceVersion":"10","bookmarks":true}
{"kind":"events","time":"2026-01-01T00:00:01Z","watch":1,"events":[{"type":"MODIFIED","key":"ns/a","resourceVersion":"11","object":{"uid":"a","resourceVersion":"11","labels":{"app":"web","v":"2"}}}]}
{"kind":"events","time":"2026-01-01T00:00:02Z","watch":1,"events":[{"type":"BOOKMARK","resourceVersion":"11"}]}
{"kind":"events","time":"2026-01-01T00:00:02Z","watch":1,"events":[{"type":"MODIFIED","key":"ns/b","resourceVersion":"12","object":{"uid":"b","resourceVersion":"12","labels":{"app":"db","v":"2"}}},{"type":"ADDED","key":"ns/c","resourceVersion":"12","object":{"uid":"c","resourceVersion":"12"}}]}
{"kind":"events","time":"2026-01-01T00:00:03Z","watch":1,"events":[{"type":"DELETED","key":"ns/b","resourceVersion":"13","object":{"uid":"b","resourceVersion":"13","labels":{"app":"db","v":"2"}}}]}
{"kind":"events","time":"2026-01-01T00:00:04Z","watch":1,"events":[{"type":"MODIFIED","key":"ns/a","resourceVersion":"14","object":{"uid":"a","resourceVersion":"14","labels":{"app":"web","v":"3"}}}]}
{"kind":"events","time":"2026-01-01T00:00:05Z","watch":1,"events":[{"type":"BOOKMARK","resourceVersion":"18"}]}
{"kind":"closed","time":"2026-01-01T00:00:05Z","watch":1}
{"kind":"end","time":"2026-01-01T00:00:06Z","lines":14}
`

// relisted is a correct recording of a reader that received the state at version 10 and,
// after a lost connection, the state at version 14.
const relisted = `{"kind":"history","time":"2026-01-01T00:00:00Z","version":3,"resource":"v1/pods"}
{"kind":"subscribe","time":"2026-01-01T00:00:00Z","scope":{}}
{"kind":"snapshot","time":"2026-01-01T00:00:00Z","scope":{},"resourceVersion":"10"}
{"kind":"watch","time":"2026-01-01T00:00:00Z","watch":1,"scope":{},"filter":{"labelSelector":"app == web"},"start":"state","bookmarks":true,"limited":true}
{"kind":"events","time":"2026-01-01T00:00:01Z","watch":1,"events":[{"type":"ADDED","key":"ns/a","resourceVersion":"9","object":{"uid":"a","resourceVersion":"9","labels":{"app":"web"}}},{"type":"BOOKMARK","resourceVersion":"10","initialEventsEnd":true}]}
{"kind":"subscribe","time":"2026-01-01T00:00:02Z","scope":{},"resourceVersion":"10","notOlderThan":"10"}
{"kind":"subscribe","time":"2026-01-01T00:00:03Z","scope":{},"notOlderThan":"10"}
{"kind":"snapshot","time":"2026-01-01T00:00:03Z","scope":{},"resourceVersion":"12"}
{"kind":"subscribe","time":"2026-01-01T00:00:03Z","scope":{},"notOlderThan":"10"}
{"kind":"snapshot","time":"2026-01-01T00:00:03Z","scope":{},"resourceVersion":"14"}
{"kind":"events","time":"2026-01-01T00:00:04Z","watch":1,"events":[{"type":"MODIFIED","key":"ns/a","resourceVersion":"14","object":{"uid":"a","resourceVersion":"14","labels":{"app":"web","v":"3"}}}]}
{"kind":"closed","time":"2026-01-01T00:00:05Z","watch":1,"reason":"the program closed it"}
{"kind":"end","time":"2026-01-01T00:00:06Z","lines":13}
`

// verify verifies edited files. It first corrects the number of lines in the last line, so
// that this number does not reveal the edit.
func verify(files ...string) (string, error) {
	for i, content := range files {
		before, _, _ := strings.Cut(content, `{"kind":"end"`)
		files[i] = counted.ReplaceAllString(content, fmt.Sprintf(`"lines":%d`, strings.Count(before, "\n")+1))
	}
	return verifyAsIs(files...)
}

var counted = regexp.MustCompile(`"lines":\d+`)

func verifyAsIs(files ...string) (string, error) {
	var h recording.History
	for i, content := range files {
		if err := h.Load([]string{"reader", "source"}[i], strings.NewReader(content)); err != nil {
			return "", err
		}
	}
	return h.Verify()
}

func TestVerifyAccepts(t *testing.T) {
	summary, err := verify(reader, source)
	require.NoError(t, err)
	require.Equal(t, "v1/pods of etcd-1: 1 watch, 5 events, 2 bookmarks, 1 list, 0 relists; against 5 changes at the source, from version 10 to 20", summary)
	summary, err = verify(reader)
	require.NoError(t, err)
	require.Contains(t, summary, "without a recording of the source")
	summary, err = verify(relisted, source)
	require.NoError(t, err)
	require.Contains(t, summary, "1 watch, 2 events, 1 bookmark, 0 lists, 1 relist;")
}

// edit replaces the text old, which must occur exactly once.
func edit(t *testing.T, content, old, with string) string {
	require.Equal(t, 1, strings.Count(content, old), old)
	return strings.Replace(content, old, with, 1)
}

// line returns the n-th line, counting from 1, with its newline.
func line(content string, n int) string { return strings.SplitAfter(content, "\n")[n-1] }

// Load and Verify report each kind of damage with a specific error.
func TestVerifyRefusesDamage(t *testing.T) {
	swapped := strings.Replace(edit(t, reader, line(reader, 10), ""), line(reader, 11), line(reader, 11)+line(reader, 10), 1)
	for _, test := range []struct {
		name    string
		files   []string
		err     error
		message string
	}{
		{"an event is missing", []string{edit(t, reader, line(reader, 11), ""), source}, check.ErrFold, "watch 1 (line 6 of reader)"},
		{"an event is missing, and no bookmark shows it", []string{edit(t, edit(t, reader, line(reader, 10), ""), line(reader, 12), ""), source}, check.ErrReliable, ""},
		{"the first event is missing", []string{edit(t, edit(t, reader, line(reader, 7), ""), line(reader, 8), ""), source}, check.ErrResumable, ""},
		{"an event is there twice", []string{edit(t, reader, line(reader, 10), line(reader, 10)+line(reader, 10)), source}, check.ErrUnique, "DELETED ns/b@13"},
		{"it needs no source to see that", []string{edit(t, reader, line(reader, 10), line(reader, 10)+line(reader, 10))}, check.ErrUnique, ""},
		{"a bookmark was moved forward", []string{edit(t, reader, `"BOOKMARK","resourceVersion":"11"`, `"BOOKMARK","resourceVersion":"12"`), source}, check.ErrBookmarkable, ""},
		{"a bookmark was moved back", []string{edit(t, reader, `"BOOKMARK","resourceVersion":"18"`, `"BOOKMARK","resourceVersion":"13"`)}, check.ErrBookmarkable, ""},
		{"two events are exchanged", []string{swapped, source}, check.ErrOrdered, ""},
		{"a deletion with another state before it", []string{edit(t, reader, `"resourceVersion":"13","labels":{"app":"db","v":"2"}`, `"resourceVersion":"13","labels":{"app":"db"}`), source}, check.ErrPrevState, ""},
		{"an addition of what was there", []string{edit(t, reader, `"MODIFIED","key":"ns/b"`, `"ADDED","key":"ns/b"`), source}, check.ErrPrevState, ""},
		{"a content that never was", []string{edit(t, reader, `"v":"3"`, `"v":"4"`), source}, check.ErrPrevState, ""},
		{"a revision in two deliveries", []string{edit(t, reader, `"v":"2"}}},{"type":"ADDED"`, `"v":"2"}}}]}`+"\n"+`{"kind":"events","time":"2026-01-01T00:00:02Z","watch":1,"events":[{"type":"ADDED"`), source}, check.ErrAtomic, ""},
		{"another selector", []string{edit(t, reader, `"scope":{},"start"`, `"scope":{},"filter":{"labelSelector":"app=web"},"start"`), source}, check.ErrFilter, ""},
		{"an object is missing in the list", []string{edit(t, reader, `,{"key":"ns/b","uid":"b","resourceVersion":"7","labels":{"app":"db"}}`, ""), source}, recording.ErrList, "line 5 of reader"},
		{"an object of the list is older", []string{edit(t, reader, `"uid":"a","resourceVersion":"9"`, `"uid":"a","resourceVersion":"8"`), source}, recording.ErrList, ""},
		{"an object of the list is from the future", []string{edit(t, reader, `"uid":"a","resourceVersion":"9"`, `"uid":"a","resourceVersion":"19"`)}, recording.ErrList, ""},
		{"an object of the list never was", []string{edit(t, reader, `{"key":"ns/b","uid":"b","resourceVersion":"7"`, `{"key":"ns/d","uid":"b","resourceVersion":"7"`), source}, recording.ErrList, ""},
		{"a relist that did not happen", []string{edit(t, relisted, line(relisted, 10), ""), source}, check.ErrReliable, ""},

		{"it ends in a line", []string{reader[:len(reader)-100], source}, recording.ErrTruncated, "reader: after line 12"},
		{"it ends between lines", []string{edit(t, reader, line(reader, 14), "")}, recording.ErrTruncated, "after line 13"},
		{"nothing", []string{""}, recording.ErrFormat, "no complete line"},
		{"nonsense", []string{"hello\n"}, recording.ErrFormat, "reader, line 1"},
		{"another program's lines", []string{"{\"level\":\"info\"}\n"}, recording.ErrFormat, `unknown field "level"`},
		{"no beginning", []string{edit(t, reader, line(reader, 1), "")}, recording.ErrFormat, `begins with a line of kind "history"`},
		{"two beginnings", []string{edit(t, reader, line(reader, 2), line(reader, 1))}, recording.ErrFormat, "line 2"},
		{"another format", []string{edit(t, reader, `"version":3`, `"version":2`)}, recording.ErrFormat, "version 2"},
		{"an unknown kind", []string{edit(t, reader, `"kind":"closed"`, `"kind":"opened"`)}, recording.ErrFormat, `no kind "opened"`},
		{"an unknown type", []string{edit(t, reader, `"DELETED"`, `"REMOVED"`)}, recording.ErrFormat, `no type of event "REMOVED"`},
		{"an unknown start", []string{edit(t, reader, `"start":"version"`, `"start":"anywhere"`)}, recording.ErrFormat, `"anywhere"`},
		{"events of no watch", []string{edit(t, reader, line(reader, 6), "")}, recording.ErrFormat, "watch 1 was not opened"},
		{"the end of no watch", []string{edit(t, reader, `"kind":"closed","time":"2026-01-01T00:00:05Z","watch":1`, `"kind":"closed","time":"2026-01-01T00:00:05Z","watch":2`)}, recording.ErrFormat, "watch 2 was not opened"},
		{"a watch twice", []string{edit(t, reader, line(reader, 6), line(reader, 6)+line(reader, 6))}, recording.ErrFormat, "opened before"},
		{"a change of nothing", []string{edit(t, reader, `"DELETED","key":"ns/b"`, `"DELETED"`)}, recording.ErrFormat, "needs a key"},
		{"more after the end", []string{reader + "\n"}, recording.ErrFormat, "after the end"},

		{"only the source", []string{source}, recording.ErrMismatch, "no watch and no list"},
		{"of another resource", []string{reader, edit(t, source, "v1/pods", "v1/nodes")}, recording.ErrMismatch, "v1/nodes"},
		{"of another source", []string{reader, edit(t, source, "etcd-1", "etcd-2")}, recording.ErrMismatch, `"etcd-2"`},
		{"the source was recorded too late", []string{edit(t, reader, line(reader, 5), ""), edit(t, source, `"resourceVersion":"10"`, `"resourceVersion":"11"`)}, recording.ErrMismatch, "record the source first"},
		{"the source was not recorded for long enough", []string{reader, edit(t, source, `"resourceVersion":"20"`, `"resourceVersion":"14"`)}, recording.ErrMismatch, "record the source for longer"},
		{"a list before the source was recorded", []string{reader, edit(t, source, `"resourceVersion":"10"`, `"resourceVersion":"11"`)}, recording.ErrMismatch, "from 11 to 20"},
		{"the source was listed twice", []string{reader, edit(t, source, line(source, 9), line(source, 3))}, recording.ErrGap, "listed again"},
		{"the source goes back", []string{reader, edit(t, source, line(source, 4), line(source, 7)+line(source, 4))}, recording.ErrGap, "a change at 11"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := verify(test.files...)
			require.ErrorIs(t, err, test.err)
			require.ErrorContains(t, err, test.message)
		})
	}
}

// The removal of any line of a recording is detected, even of a line of kind list.
func TestMissingLineIsDetected(t *testing.T) {
	for name, content := range map[string]string{"reader": reader, "relisted": relisted, "source": source} {
		lines := strings.SplitAfter(strings.TrimSuffix(content, "\n"), "\n")
		for i := 1; i < len(lines)-1; i++ {
			files := []string{strings.Join(lines[:i], "") + strings.Join(lines[i+1:], "") + "\n"}
			if name == "source" {
				files = []string{reader, files[0]}
			}
			_, err := verifyAsIs(files...)
			require.Error(t, err, "%s without %s", name, lines[i])
		}
	}
	_, err := verifyAsIs(edit(t, reader, line(reader, 5), ""))
	require.EqualError(t, err, "gap: changes are missing from the recording: reader, line 13: the recorder wrote 14 lines, and here are 13")
	_, err = verifyAsIs(reader, source)
	require.NoError(t, err)
}

// Verify does not check an object that was temporarily unreadable at the source.
func TestVerifyIgnoresFaults(t *testing.T) {
	faulty := edit(t, source, `"key":"ns/a","object":{"uid":"a","resourceVersion":"11","labels":{"app":"web","v":"2"}}`,
		`"key":"ns/a","object":{"resourceVersion":"11","fault":"it is no JSON"}`)
	_, err := verify(reader, faulty)
	require.NoError(t, err)
}
