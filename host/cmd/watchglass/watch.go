package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"

	"github.com/spf13/cobra"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/host/client"
	"github.com/watchglass/watchglass/host/internal/terminal"
)

func newWatchCommand() *cobra.Command {
	f := readFlags{watch: true}
	cmd := &cobra.Command{
		Use:   "watch RESOURCE [NAME]",
		Short: "Print objects and then every change",
		Long: `Watch prints objects like get, and then every change until it is interrupted. It
reconnects when a connection is lost, and reports on stderr when its data may be
stale.

With -o json, every line is one watch event as Kubernetes sends it, and existing
objects are ADDED events. In a table, an object that changes faster than the
terminal can show is printed in its newest state.

With --search or --where, an object is added when it begins to match, and deleted
when it no longer does. --sort-by orders the existing objects. A query or --add-column
limits the watch to 10000 objects, and excludes -o json and --record.` + queryHelp + addColumnHelp,
		Example: `  watchglass watch pods -A
  watchglass watch po -l app=web -o json | jq -r .object.status.phase
  watchglass watch pods -A --where 'status~crash or restarts>3'
  watchglass watch pods -A --record pods.jsonl`,
		Args: arguments(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error { return read(cmd, &f, args) },
	}
	f.add(cmd)
	cmd.Flags().BoolVar(&f.events, "output-watch-events", false, "show the type of each event in a table")
	cmd.Flags().StringVar(&f.record, "record", "", "also record the received events to this new file, for watchglass verify")
	return cmd
}

// watchObjects prints the list and then changes until ctx is done.
func watchObjects(ctx context.Context, r *reading) error {
	follow := r.watchMatching
	if !r.flags.readsView() {
		objects, rv, err := r.list(ctx)
		if err != nil {
			return err
		}
		if err := r.printFirst(objects, rv); err != nil {
			return err
		}
		follow = func(ctx context.Context) error { return r.follow(ctx, rv) }
	}
	ctx, cancel := context.WithCancel(ctx)
	var states sync.WaitGroup
	states.Go(func() { reportStates(ctx, r.collection, r.stderr) })
	defer states.Wait()
	defer cancel()
	return follow(ctx)
}

func (r *reading) printFirst(objects []object, rv api.ResourceVersion) error {
	if r.flags.output != formatJSON {
		return r.print(objects, rv)
	}
	for _, o := range objects {
		if err := r.printer.event(api.Added, o); err != nil {
			return err
		}
	}
	return nil
}

// follow prints the events after rv. It returns the error that ended the watch, which is
// the error of ctx after an interrupt.
func (r *reading) follow(ctx context.Context, rv api.ResourceVersion) (err error) {
	options := client.WatchOptions{ResourceVersion: rv.String(), AllowWatchBookmarks: true}
	if r.flags.output != formatJSON {
		options.Policy = client.Conflate
	}
	watch, err := r.collection.Watch(ctx, options)
	if err != nil {
		return err
	}
	defer watch.Close()
	recorded := r.recorder.watch(options)
	defer func() { recorded.end(err) }()
	for event, err := range watch.Events(ctx) {
		if status := (*api.Status)(nil); errors.As(err, &status) {
			return fmt.Errorf("watch ended: %w", err)
		}
		if err != nil {
			return err
		}
		recorded.event(event)
		if event.Type.IsChange() {
			if err := r.printer.event(event.Type, event.Object); err != nil {
				return err
			}
		}
	}
	return nil
}

// reportStates prints a line when the data becomes stale, and another when the data is
// current again. It does the same for the added columns.
func reportStates(ctx context.Context, c *client.Collection, w io.Writer) {
	last, outdated := api.StateLive, "" // outdated is why the added columns are not current
	for {
		status, changed := c.StatusChange()
		if status.State != last && reported(status.State) {
			fmt.Fprintln(w, "watchglass:", terminal.Text(stateText(status)))
			last = status.State
		}
		if status.State == api.StateLive {
			var why *api.Status
			reason := ""
			if errors.As(status.Err, &why) && why.Cause == api.JoinUnavailable {
				reason = why.Error()
			}
			switch {
			case reason == outdated:
			case reason == "":
				fmt.Fprintln(w, "watchglass: the added columns are current")
			default:
				fmt.Fprintln(w, "watchglass: the added columns are not current:", terminal.Text(reason))
			}
			outdated = reason
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

func reported(s api.State) bool {
	return s == api.StateLive || s == api.StateReconnecting || s == api.StateStale || s == api.StateForbidden
}

func stateText(s client.Status) string {
	text := s.State.String()
	if s.State == api.StateLive {
		return text
	}
	if s.Err != nil && !errors.Is(s.Err, context.Canceled) {
		text += ": " + s.Err.Error()
	}
	var status *api.Status
	if errors.As(s.Err, &status) && status.Code == http.StatusUnauthorized {
		text += "; start again with another --token"
	}
	return text + fmt.Sprintf(" (showing the state at resource version %s)", s.ResourceVersion)
}
