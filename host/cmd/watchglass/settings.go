package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/watchglass/watchglass/host/internal/settings"
)

// configurable makes a command accept settings from the environment and a file. Call
// configurable after all flags are defined.
func (f *hostFlags) configurable(cmd *cobra.Command) {
	f.settings = settings.New(cmd.Flags())
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := f.settings.Load(os.Environ(), foreign(cmd.Root())); err != nil {
			return misused(cmd, settingMistake(err))
		}
		if f.settings.PrintRequested() {
			return f.settings.Print(cmd.OutOrStdout())
		}
		return run(cmd, args)
	}
}

// foreign returns a function that reports whether a variable belongs to any command or to
// the edge.
func foreign(root *cobra.Command) func(name string) bool {
	return func(name string) bool {
		switch name {
		case "key", "clusters", "regions": // variables of the edge
			return true
		}
		for _, cmd := range root.Commands() {
			if cmd.Flags().Lookup(name) != nil {
				return true
			}
		}
		return false
	}
}

// settingMistake is like [flagMistake], but the message also names the origin of the
// setting, such as a file.
func settingMistake(err error) string {
	var setting *settings.Error
	if !errors.As(err, &setting) {
		return err.Error()
	}
	return fmt.Sprintf("%s: %s", setting.Origin, flagMistake(setting.Err))
}
