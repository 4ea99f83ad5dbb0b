package main

import (
	"fmt"
	"io"
	"math"
	"os"

	"github.com/spf13/cobra"

	"github.com/watchglass/watchglass/host/recording"
)

func newVerifyCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "verify FILE...",
		Short: "Check recorded watches against the guarantees of a Kubernetes watch",
		Long: `Verify reads recordings of "watchglass watch --record". It checks that they are
complete, that every event matches the request, and that no event is repeated, out
of order or older than a bookmark. With a recording of the source, made by
"watchglass record", it also checks that no event is missing, that every event has
the correct type and object, and that every list and bookmark is exact.

If a guarantee is violated, it exits with 1 and reports which one and where.`,
		Example: `  watchglass record pods --etcd-endpoints 127.0.0.1:2379 source.jsonl &
  watchglass watch pods -A -o json --record reader.jsonl
  kill %1
  watchglass verify reader.jsonl source.jsonl`,
		Args: arguments(1, math.MaxInt),
		RunE: func(cmd *cobra.Command, args []string) error { return verify(args, cmd.OutOrStdout()) },
	}
}

func verify(names []string, out io.Writer) error {
	var h recording.History
	for _, name := range names {
		if err := load(&h, name); err != nil {
			return err
		}
	}
	summary, err := h.Verify()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "verified: %s\n", summary)
	return err
}

func load(h *recording.History, name string) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	return h.Load(name, file)
}
