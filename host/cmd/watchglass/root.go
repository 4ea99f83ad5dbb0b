package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "watchglass",
		Short: "The Kubernetes watch cache, where the data is looked at",
		Long: `watchglass keeps readers of a Kubernetes cluster up to date: browser tabs, edge
workers, terminals. One connector watches the cluster once, whatever the number
of readers, and every reader resumes where it stopped.`,
		Example: `  # See it at work; needs nothing else
  watchglass demo

  # Serve the objects of the cluster that kubectl talks to, with a dashboard
  watchglass serve --kubeconfig ~/.kube/config`,
		SilenceUsage:      true,
		SilenceErrors:     true,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
		Args:              cobra.NoArgs,
		RunE:              func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return fmt.Errorf("%w\nSee '%s --help' for usage", err, cmd.CommandPath())
	})
	root.AddCommand(newDemoCommand(), newServeCommand(), newGetCommand(), newWatchCommand(), newInspectCommand(), newRecordCommand(), newVerifyCommand(), newPushCommand(), newTokenCommand(), newVersionCommand())
	return root
}
