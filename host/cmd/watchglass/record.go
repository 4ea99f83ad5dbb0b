package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/host/internal/reload"
)

type recordFlags struct {
	logFlags
	upstreamFlags
}

func newRecordCommand() *cobra.Command {
	var f recordFlags
	cmd := &cobra.Command{
		Use:   "record RESOURCE FILE",
		Short: "Record the changes of a resource at its source, for verify",
		Long: `Record writes the state of a resource and then every change to a new file, until it
is interrupted. It reads etcd or kube-apiserver directly, without a connector.

"watchglass verify" compares a reader's recording with this one. Start record before
the reader, and stop it after the reader.`,
		Example: `  watchglass record pods source.jsonl --etcd-endpoints 127.0.0.1:2379`,
		Args:    arguments(2, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return record(cmd.Context(), &f, args[0], args[1], cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f.logFlags.add(cmd.Flags())
	f.kubeFlags.add(cmd.Flags())
	f.etcdFlags.add(cmd.Flags())
	return cmd
}

func record(ctx context.Context, f *recordFlags, name, path string, out, stderr io.Writer) (failed error) {
	resource, err := resolve(name)
	if err != nil {
		return err
	}
	log, err := f.logger(stderr)
	if err != nil {
		return err
	}
	files := files{Watcher: reload.NewWatcher(log)}
	up, err := f.open(log, files.Watcher)
	if err != nil {
		return err
	}
	defer up.close()
	defer files.watch()()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	r, err := newRecorder(path, resource, stop)
	if err != nil {
		return err
	}
	defer func() {
		if err := r.Close(); err != nil {
			failed = err
		}
	}()
	warnUnreachable(ctx, log, up, retrying)
	err = r.recorder.Source(ctx, up.source, resource, func(rv api.ResourceVersion) {
		if !r.begun {
			fmt.Fprintf(out, "recording %s of %s from version %d on; Ctrl-C stops\n", resource, up.name, rv)
			r.begun = true
		}
	})
	if err == nil && !r.begun {
		return fmt.Errorf("interrupted before the first list of %s was complete: no recording is written", resource)
	}
	return err
}
