package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"
)

func main() {
	only := flag.String("only", "", "the figures to run, such as P1,P9; edge for all of the edge; all others if empty")
	output := flag.String("json", "", "a file to write the results to as well")
	keep := flag.String("data", "", "a folder to keep recordings in, for the next run of the same code")
	check := flag.Bool("check", false, "fail when a figure is further from its target than is allowed")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *only, *output, *keep, *check); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, only, output, keep string, check bool) error {
	chosen, err := choose(only)
	if err != nil {
		return err
	}
	b, err := newBench(keep)
	if err != nil {
		return err
	}
	defer b.close()
	results := []Result{} // not nil, so that JSON contains an empty list instead of null
	var failed []string
	for _, f := range chosen {
		b.logf("%s: %s", f.id, f.title)
		start := time.Now()
		list, err := f.run(ctx, b)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			b.logf("%s: %v", f.id, err)
			failed = append(failed, f.id+" did not run")
		}
		for _, r := range list {
			r.judge(f)
			fmt.Println(r)
			results = append(results, r)
			if r.tooFar && check {
				failed = append(failed, r.name()+" has grown beyond what figures.go allows; find out what made it, or raise the bound on purpose")
			}
		}
		b.logf("%s took %s", f.id, time.Since(start).Round(time.Second))
	}
	if output != "" {
		if err := write(output, results); err != nil {
			return err
		}
	}
	if len(failed) > 0 {
		return fmt.Errorf("%s", strings.Join(failed, "; "))
	}
	return nil
}

// choose returns the figures with the given IDs, separated by commas. An empty text selects
// all figures except those of the edge, and "edge" selects only those.
func choose(only string) ([]figure, error) {
	switch only {
	case "":
		return figures, nil
	case "edge":
		return edgeFigures, nil
	}
	all := slices.Concat(figures, edgeFigures)
	var chosen []figure
	for _, id := range strings.Split(only, ",") {
		i := slices.IndexFunc(all, func(f figure) bool { return f.id == strings.ToUpper(strings.TrimSpace(id)) })
		if i < 0 {
			var ids []string
			for _, f := range all {
				ids = append(ids, f.id)
			}
			return nil, fmt.Errorf("unknown figure %q; the figures are %s", id, strings.Join(ids, ", "))
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}

func write(path string, results []Result) error {
	data, err := json.MarshalIndent(struct {
		Machine string   `json:"machine"`
		Results []Result `json:"results"`
	}{machine(), results}, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(data, '\n'), 0o644)
}
