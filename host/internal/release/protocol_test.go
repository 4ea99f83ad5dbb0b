package main

import (
	"io"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAChangedProtocolNeedsANewVersion changes the recorded frames after a release. The
// type of a frame is its first byte. Types 01 and 10 are required, 86 is optional, and
// 41 is used only within a process.
func TestAChangedProtocolNeedsANewVersion(t *testing.T) {
	dir := t.TempDir()
	shell(t, dir, `git init -q .
mkdir -p core/wire testdata/wire
frame() { echo '{"frame": "X",'$'\n'"  \"hex\": \"$2\"}" > testdata/wire/$1.json; }
echo 'const Version = 2' > core/wire/frame.go
frame Hello 0101; frame Pong 860109; frame Step 410100
git add . && git commit -qm 'x: y' && git tag v0.2.0 && git tag v0.9.0`)
	r, err := open(t.Context(), dir, io.Discard)
	require.NoError(t, err)
	require.NoError(t, r.check(t.Context(), "v0.1.0"), "there is no earlier release")
	require.NoError(t, r.check(t.Context(), "v0.2.1"))

	commit := func(script string) {
		t.Helper()
		shell(t, dir, `frame() { echo '{"frame": "X",'$'\n'"  \"hex\": \"$2\"}" > testdata/wire/$1.json; }
`+script+"\ngit add . && git commit -qm 'x: y'")
	}
	commit("frame Step 41020000; frame Hello-zero 0100; frame Ping 9c0101")
	require.NoError(t, r.check(t.Context(), "v0.2.1"), "frames in a process, further samples and optional frames may change")

	commit("frame Welcome 100102")
	require.ErrorContains(t, r.check(t.Context(), "v0.2.1"), "testdata/wire/Welcome.json has changed since v0.2.0, but the version of the protocol is still 2")
	commit("rm testdata/wire/Welcome.json; frame Hello 01020000")
	require.ErrorContains(t, r.check(t.Context(), "v0.2.1"), "testdata/wire/Hello.json has changed since v0.2.0")
	require.ErrorContains(t, r.check(t.Context(), "v1.0.0"), "testdata/wire/Hello.json has changed since v0.9.0")
	commit("frame Hello 0101; frame Pong 86020900")
	require.ErrorContains(t, r.check(t.Context(), "v0.2.1"), "testdata/wire/Pong.json has changed")

	commit("echo 'const Version = 3' > core/wire/frame.go")
	require.NoError(t, r.check(t.Context(), "v0.3.0"))
}
