package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "watchglass",
		Short: "The Kubernetes watch cache, where the data is viewed",
		Long: `watchglass keeps readers of a Kubernetes cluster up to date: browser tabs, edge
workers, terminals. One connector watches the cluster once, regardless of the
number of readers, and every reader resumes where it stopped.`,
		Example: `  # Try it; requires no cluster
  watchglass demo

  # Serve the objects of the cluster that kubectl talks to, with a dashboard
  watchglass serve --kubeconfig ~/.kube/config`,
		Version:           versionDetails(),
		SilenceUsage:      true,
		SilenceErrors:     true,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
		Args:              noSuchCommand,

		SuggestionsMinimumDistance: 2,
		RunE:                       func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return misused(cmd, flagMistake(err))
	})
	root.SetVersionTemplate("{{.Name}} {{.Version}}\n")
	root.SetHelpCommand(newHelpCommand())
	root.AddCommand(newDemoCommand(), newServeCommand(), newGetCommand(), newWatchCommand(), newTreeCommand(), newInspectCommand(), newRecordCommand(), newVerifyCommand(), newPushCommand(), newTokenCommand(), newVersionCommand())
	return root
}

func newHelpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Help about any command",
		RunE: func(cmd *cobra.Command, args []string) error {
			command, rest, err := cmd.Root().Find(args)
			if err == nil {
				err = noSuchCommand(command, rest)
			}
			if err != nil {
				return err
			}
			command.InitDefaultHelpFlag()
			return command.Help()
		},
	}
}

// flagMistake returns the message for an error of a flag. For an invalid value, the
// message names the kind of value that the flag expects.
func flagMistake(err error) string {
	var invalid *pflag.InvalidValueError
	if !errors.As(err, &invalid) {
		return err.Error()
	}
	flag := invalid.GetFlag()
	switch flag.Value.(type) {
	case *limitValue, *proxies: // their errors name the value and the expected format
		return fmt.Sprintf("--%s %v", flag.Name, invalid.Unwrap())
	}
	expected, known := map[string]string{
		"int":      "a whole number",
		"uint64":   "a whole number, 0 or more",
		"float64":  "a number",
		"bool":     "true or false",
		"duration": "a time with its unit, such as 30s, 5m or 1h30m",
	}[flag.Value.Type()]
	if !known {
		return err.Error()
	}
	if errors.Is(err, strconv.ErrRange) {
		expected += " within the range of the flag"
	}
	return fmt.Sprintf("--%s %q: expected %s", flag.Name, invalid.GetValue(), expected)
}

func misused(cmd *cobra.Command, what string) error {
	return fmt.Errorf("%s\nSee '%s --help' for usage", what, cmd.CommandPath())
}

func noSuchCommand(root *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	what := fmt.Sprintf("unknown command %q for %q", args[0], root.CommandPath())
	if near := root.SuggestionsFor(args[0]); len(near) > 0 {
		what += ": did you mean " + strings.Join(near, " or ") + "?"
	}
	return misused(root, what)
}

// arguments returns a check that a command has between least and most arguments. The
// errors of the check show the usage.
func arguments(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return misused(cmd, "too few arguments, expected: "+cmd.UseLine())
		case len(args) > most:
			return misused(cmd, fmt.Sprintf("unexpected argument %q, expected: %s", args[most], cmd.UseLine()))
		}
		return nil
	}
}
