package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"time"
)

const (
	govulncheck = "golang.org/x/vuln/cmd/govulncheck@v1.9.0"
	database    = "https://vuln.go.dev"

	probeTimeout = 5 * time.Second
	auditTimeout = time.Minute
)

// goVulnerabilities runs govulncheck on every package, and returns an error if it finds a
// vulnerability. If the database is unreachable, goVulnerabilities prints the reason and
// returns nil.
func goVulnerabilities(ctx context.Context, out io.Writer) error {
	address := os.Getenv("GOVULNDB")
	if address == "" {
		address = database
	}
	if err := probe(ctx, address+"/index/db.json"); err != nil {
		fmt.Fprintf(out, "govulncheck: skipped, the database cannot be reached: %v\n", err)
		return nil
	}
	cmd := exec.CommandContext(ctx, "go", "run", govulncheck, "./...")
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("govulncheck: %w", err)
	}
	return nil
}

// probe returns an error if an address does not respond with 200 within probeTimeout.
func probe(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", address, resp.Status)
	}
	return nil
}

// npmVulnerabilities runs npm audit in a directory, and returns an error for
// vulnerabilities of level high or critical. If the registry does not respond,
// npmVulnerabilities prints the reason and returns nil.
func npmVulnerabilities(ctx context.Context, dir string, out io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, auditTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "npm", "audit", "--audit-level=high", "--json",
		fmt.Sprintf("--fetch-timeout=%d", probeTimeout.Milliseconds()), "--fetch-retries=0")
	cmd.Dir, cmd.WaitDelay = dir, time.Second
	report, err := cmd.Output()
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	return judge(dir, report, err, out)
}

// judge returns an error if the audit found vulnerabilities. If the audit could not run,
// judge prints the reason and returns nil.
func judge(dir string, report []byte, failed error, out io.Writer) error {
	var parsed struct {
		AuditReportVersion int
		Message            string
	}
	if json.Unmarshal(report, &parsed) != nil || parsed.AuditReportVersion == 0 {
		reason := parsed.Message
		if reason == "" && failed != nil {
			reason = failed.Error()
		}
		fmt.Fprintf(out, "npm audit in %s: skipped, the registry does not answer: %s\n", dir, reason)
		return nil
	}
	if failed == nil {
		return nil
	}
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, report, "", "  "); err != nil {
		return err
	}
	return errors.New("npm audit in " + dir + " found vulnerabilities of level high or critical:\n" + pretty.String())
}
