package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/watchglass/watchglass/host/internal/redact"
	"github.com/watchglass/watchglass/host/internal/terminal"
)

func newInspectCommand() *cobra.Command {
	var address, output string
	cmd := &cobra.Command{
		Use:   "inspect",
		Short: "Show a connector's resources and readers, and how current the data is",
		Long: `Inspect queries a connector's admin address (serve --admin, push --admin). For each
resource it prints the number of objects, the resource version, the memory, and the
time since the source last sent data. For each reader it prints the subscriptions
and the resource version up to which events were sent.`,
		Example: `  watchglass serve --kubeconfig ~/.kube/config --admin 127.0.0.1:8082
  watchglass inspect --admin 127.0.0.1:8082`,
		Args: arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return inspect(cmd.Context(), address, output, cmd.OutOrStdout())
		},
	}
	cmd.Flags().StringVar(&address, "admin", "127.0.0.1:8082", "the connector's admin address")
	cmd.Flags().StringVarP(&output, "output", "o", "", `"json" prints all information as JSON (default: a table)`)
	return cmd
}

// inspectTimeout limits the duration of the request to the connector.
const inspectTimeout = 10 * time.Second

func inspect(ctx context.Context, address, output string, stdout io.Writer) error {
	if output != "" && output != "json" {
		return fmt.Errorf("--output %q: expected json, or no value for a table", output)
	}
	target, err := inspectURL(address)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, inspectTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%s did not respond within %v: is it the address of serve --admin?", redact.URL(address), inspectTimeout)
	case ctx.Err() != nil:
		return errors.New("interrupted before the connector responded")
	case err != nil:
		return fmt.Errorf("no connector responded: %w; start it with serve --admin or push --admin, and give that address", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s returned %s: is it the address of serve --admin?", redact.URL(address), resp.Status)
	}
	if output == "json" {
		document, err := io.ReadAll(resp.Body) // in one piece, because each Write must end with a complete rune
		if err == nil {
			_, err = stdout.Write(document)
		}
		return err
	}
	var i inspection
	if err := json.NewDecoder(resp.Body).Decode(&i); err != nil {
		return fmt.Errorf("%s: the server is not a connector: %w", redact.URL(address), err)
	}
	return i.print(stdout, time.Now())
}

// inspectURL returns the URL of /inspect. It accepts a URL, or an address in the format
// of the flag --admin of serve.
func inspectURL(address string) (string, error) {
	base := address
	if !strings.Contains(address, "://") {
		base = "http://" + address
	}
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", fmt.Errorf("--admin %q: expected an address such as 127.0.0.1:8082", redact.URL(address))
	}
	return u.JoinPath("inspect").String(), nil
}

func (i *inspection) print(stdout io.Writer, now time.Time) error {
	w := tabwriter.NewWriter(stdout, 0, 0, 3, ' ', 0)
	fmt.Fprintf(w, "watchglass %s, from %s\n\n", terminal.Text(i.Version), terminal.Text(i.Source))
	fmt.Fprintln(w, "RESOURCE\tSTATE\tOBJECTS\tVERSION\tMEMORY\tLAST MESSAGE\tREADERS")
	for _, r := range i.Resources {
		fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%s\t%.0fs ago\t%d\n", terminal.Text(r.Resource), terminal.Text(r.state()), r.Objects, r.ResourceVersion,
			size(uint64(r.Bytes)), r.BehindSeconds, r.Readers)
	}
	if len(i.Resources) == 0 {
		fmt.Fprintln(w, "(no resource is watched, because there are no readers)")
	}
	fmt.Fprintln(w, "\nREADER\tAGE\tSENT\tSUBSCRIPTIONS")
	for _, r := range i.Readers {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", terminal.Text(r.User), now.Sub(r.Since).Round(time.Second), size(r.Bytes), terminal.Text(r.subscriptions()))
	}
	if len(i.Readers) == 0 {
		fmt.Fprintln(w, "(no readers)")
	}
	fmt.Fprintln(w, "\nLIMIT\tVALUE\tREFUSALS")
	for _, l := range i.Limits {
		fmt.Fprintf(w, "%s\t%s\t%d\n", l.Name, l.Text, l.Refusals)
	}
	return w.Flush()
}

func (r *inspectedResource) state() string {
	switch {
	case r.Failures > 0:
		return "failing: " + r.Error
	case r.Ready:
		return "ready"
	}
	return "listing"
}

func (r *inspectedReader) subscriptions() string {
	var all []string
	for _, s := range r.Subscriptions {
		text := s.Resource
		if s.Namespace != "" {
			text += " in " + s.Namespace
		}
		text += " at " + s.ResourceVersion
		switch {
		case s.HeldBack:
			text += " (paused)"
		case !s.Live:
			text += " (listing)"
		}
		all = append(all, text)
	}
	if len(all) == 0 {
		return "none"
	}
	return strings.Join(all, ", ")
}

// size formats a number of bytes with a unit. A kB is 1024 bytes.
func size(n uint64) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d B", n)
	case n < 1<<20:
		return fmt.Sprintf("%.1f kB", float64(n)/(1<<10))
	case n < 1<<30:
		return fmt.Sprintf("%.1f MB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.1f GB", float64(n)/(1<<30))
}
