package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func read(t *testing.T, read reader, text string) (results []result, messages string) {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, read(strings.NewReader(text), &out, func(r result) { results = append(results, r) }))
	return results, out.String()
}

func TestReadGo(t *testing.T) {
	results, messages := read(t, readGo, `{"Action":"start","Package":"a"}
{"Action":"run","Package":"a","Test":"TestGood"}
{"Action":"output","Package":"a","Test":"TestGood","Output":"=== RUN   TestGood\n"}
{"Action":"pass","Package":"a","Test":"TestGood","Elapsed":0.5}
{"Action":"output","Package":"a","Test":"TestSkipped","Output":"    a reason\n"}
{"Action":"skip","Package":"a","Test":"TestSkipped","Elapsed":0}
{"Action":"output","Package":"a","Output":"ok  \ta\t(cached)\n"}
{"Action":"pass","Package":"a","Elapsed":0.2}
not an event
{"Action":"build-output","ImportPath":"b","Output":"b.go:1:1: syntax error\n"}
{"Action":"output","Package":"c","Test":"TestHangs","Output":"panic: test timed out\n"}
{"Action":"output","Package":"c","Output":"FAIL\tc\t9s\n"}
{"Action":"fail","Package":"c","Elapsed":9}
`)
	require.Equal(t, "not an event\nb.go:1:1: syntax error\n", messages)
	require.Equal(t, []result{
		{unit: "a", test: "TestGood", seconds: 0.5},
		{unit: "a", test: "TestSkipped", outcome: skipped, output: "    a reason\n"},
		{unit: "a", seconds: 0.2, cached: true},
		{unit: "c", test: "TestHangs", outcome: failed, output: "panic: test timed out\n    the package ended before this test\n"},
		{unit: "c", outcome: failed, seconds: 9, output: "FAIL\tc\t9s\n"},
	}, results)
}

func TestReadNode(t *testing.T) {
	results, messages := read(t, readNode, `{"file":"a.mjs","action":"output","output":"printed\n"}
{"file":"a.mjs","action":"pass","test":"one","seconds":1.5,"output":""}
{"file":"a.mjs","action":"fail","test":"two > part","seconds":0,"output":"    Error\n"}
{"file":"a.mjs","action":"fail","seconds":2}
{"file":"b.mjs","action":"run","id":"1","test":"one"}
{"file":"b.mjs","action":"end","id":"1"}
{"file":"b.mjs","action":"pass","seconds":3}
a message of Node
{"file":"c.mjs","action":"run","id":"1","test":"crashes"}
{"file":"c.mjs","action":"output","output":"no memory\n"}
{"file":"c.mjs","action":"fail","seconds":1}
{"file":"d.mjs","action":"run","id":"1","test":"ends"}
{"file":"d.mjs","action":"run","id":"2","test":"hangs"}
{"file":"d.mjs","action":"end","id":"1"}
`)
	require.Equal(t, "a message of Node\n", messages)
	require.Equal(t, []result{
		{unit: "a.mjs", test: "one", seconds: 1.5},
		{unit: "a.mjs", test: "two > part", outcome: failed, output: "    Error\n"},
		{unit: "a.mjs", outcome: failed, seconds: 2, output: "printed\n"},
		{unit: "b.mjs", seconds: 3},
		{unit: "c.mjs", test: "crashes", outcome: failed, output: "    the file ended before this test\n"},
		{unit: "c.mjs", outcome: failed, seconds: 1, output: "no memory\n"},
		{unit: "d.mjs", test: "hangs", outcome: failed, output: "    the file ended before this test\n"},
		{unit: "d.mjs", outcome: failed},
	}, results)
}

func TestResultsArePrintedAndCounted(t *testing.T) {
	var out bytes.Buffer
	var tests tally
	var durations slowest
	for _, r := range []result{
		{unit: "a", test: "TestGood"},
		{unit: "a", seconds: 1},
		{unit: "b", test: "TestBad", outcome: failed, output: "why\n"},
		{unit: "b", outcome: failed, seconds: 3},
		{unit: "c", test: "TestSkipped", outcome: skipped, output: "a reason\n"},
		{unit: "c", seconds: 2},
		{unit: "d", outcome: skipped}, // a package without tests
	} {
		tests.count(r)
		r.print(&out)
		if r.test == "" {
			durations.add(r.unit, r.seconds)
		}
	}
	require.Equal(t, "1 passed, 1 failed, 1 skipped", tests.String())
	require.Regexp(t, `^ok   a +1\.0s
FAIL b TestBad
why
FAIL b
SKIP c TestSkipped
a reason
ok   c +2\.0s
$`, out.String())
	out.Reset()
	durations.print(&out, 2)
	require.Equal(t, "== the slowest packages and files\n    3.0s  b\n    2.0s  c\n", out.String())
}
