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
		Short: "Judge recorded watches by the guarantees of a Kubernetes watch",
		Long: `Verify reads what "watchglass watch --record" wrote and checks that no line of it
was lost, that every event was asked for, and that nothing came twice, out of
order or beside a bookmark. With a recording of the source beside it, made by
"watchglass record", it also checks that nothing is missing, that every event
leads from what was held to what was true, and that every list and bookmark is
exact.

It exits with 1, and says which guarantee was broken where, when one was.`,
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
