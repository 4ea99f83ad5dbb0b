package main

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

// version is set by the linker: -X main.version=v1.2.3.
var version string

func newVersionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), "watchglass", versionDetails())
			return err
		},
	}
}

func versionDetails() string { return describeVersion(version, buildInfo()) }

func versionText() string { return chooseVersion(version, buildInfo()) }

func buildInfo() *debug.BuildInfo {
	if info, ok := debug.ReadBuildInfo(); ok {
		return info
	}
	return &debug.BuildInfo{GoVersion: runtime.Version()}
}

// chooseVersion returns the version that the linker has set. Without it, chooseVersion
// returns the module version, which go install records, or else the commit, or else "dev".
func chooseVersion(linked string, info *debug.BuildInfo) string {
	if linked != "" {
		return linked
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	return cmp.Or(setting(info, "vcs.revision"), "dev")
}

// describeVersion returns the version, commit, Go version and platform of a program.
func describeVersion(linked string, info *debug.BuildInfo) string {
	var details []string
	if commit := setting(info, "vcs.revision"); commit != "" {
		if setting(info, "vcs.modified") == "true" {
			commit += " with changes"
		}
		details = append(details, "commit "+commit)
	}
	details = append(details, info.GoVersion, runtime.GOOS+"/"+runtime.GOARCH)
	return chooseVersion(linked, info) + " (" + strings.Join(details, ", ") + ")"
}

// setting returns a setting of the build, or "" if the build has not recorded it.
func setting(info *debug.BuildInfo, key string) string {
	for _, s := range info.Settings {
		if s.Key == key {
			return s.Value
		}
	}
	return ""
}
