package main

import (
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestVersionUsesBuildInformation(t *testing.T) {
	platform := runtime.GOOS + "/" + runtime.GOARCH
	commit := []debug.BuildSetting{{Key: "vcs", Value: "git"}, {Key: "vcs.revision", Value: "abc"}, {Key: "vcs.modified", Value: "false"}}
	changed := []debug.BuildSetting{{Key: "vcs.revision", Value: "abc"}, {Key: "vcs.modified", Value: "true"}}
	for _, c := range []struct {
		linked, module string
		settings       []debug.BuildSetting
		want           string
	}{
		{"v1.2.3", "(devel)", commit, "v1.2.3 (commit abc, go1.99, " + platform + ")"},
		{"v1.2.3", "v1.2.2", changed, "v1.2.3 (commit abc with changes, go1.99, " + platform + ")"},
		{"", "v0.2.0", nil, "v0.2.0 (go1.99, " + platform + ")"}, // built by go install
		{"", "(devel)", commit, "abc (commit abc, go1.99, " + platform + ")"},
		{"", "", nil, "dev (go1.99, " + platform + ")"},
	} {
		info := &debug.BuildInfo{GoVersion: "go1.99", Main: debug.Module{Version: c.module}, Settings: c.settings}
		assert.Equal(t, c.want, describeVersion(c.linked, info))
	}
}
