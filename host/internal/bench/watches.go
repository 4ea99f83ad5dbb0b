package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// dispatchRounds is the number of measurements of each side of P5. The result is their
// median.
const dispatchRounds = 5

// runDispatch measures P5: the time to dispatch an event to watches.
func runDispatch(ctx context.Context, b *bench) ([]Result, error) {
	var results []Result
	cachers := filepath.Join(b.dir, "cacher.test")
	if _, err := output(ctx, "go", "test", "-c", "-o", cachers, "./core/cacher"); err != nil {
		return nil, err
	}
	for _, selectors := range []string{"labels", "fields", "mixed"} {
		b.logf("  by %s", selectors)
		r, err := flatness(ctx, cachers, selectors)
		if err != nil {
			return results, err
		}
		results = append(results, r)
	}
	b.logf("  against kube-apiserver's cacher, which takes minutes to build the first time, and seconds to run")
	out, err := output(ctx, "go", "-C", "host/conformance", "test", "./cacher", "-run", "^$", "-bench", "ManyWatches",
		"-benchtime", "24x", "-count", strconv.Itoa(dispatchRounds))
	if err != nil {
		return results, err
	}
	metrics := benchMetrics(out)
	ratio, ours, theirs := metrics["ratio"], metrics["ours-ns/event"], metrics["theirs-ns/event"]
	if len(ratio) == 0 || len(ours) == 0 || len(theirs) == 0 {
		return results, fmt.Errorf("the benchmark against kube-apiserver's cacher reported no ratio: %s", out)
	}
	return append(results, Result{Case: "upstream", Ratio: median(ratio), Sides: []Side{
		{"ours", median(ours) / 1000, "us/event"}, {"cacher", median(theirs) / 1000, "us/event"},
	}}), nil
}

// flatness compares the time per event with ten thousand watches to the time with ten watches.
// Each change matches the same number of watches on both sides, and the measurements alternate.
func flatness(ctx context.Context, cachers, selectors string) (Result, error) {
	var few, many, ratios []float64
	for range dispatchRounds {
		for _, side := range []struct {
			watches string
			into    *[]float64
		}{{"10", &few}, {"10000", &many}} {
			name := "Dispatch/" + selectors + "/" + side.watches + "$"
			out, err := output(ctx, cachers, "-test.run", "^$", "-test.bench", name, "-test.benchtime", "60000x")
			if err != nil {
				return Result{}, err
			}
			nanos := benchMetrics(out)["cpu-ns/op"]
			if len(nanos) != 1 {
				return Result{}, fmt.Errorf("there is no benchmark named %s", name)
			}
			*side.into = append(*side.into, nanos[0])
		}
		ratios = append(ratios, many[len(many)-1]/few[len(few)-1])
	}
	return Result{Case: selectors, Ratio: median(ratios), Sides: []Side{
		{"10,000 watches", median(many), "ns/event"}, {"10", median(few), "ns/event"},
	}}, nil
}

// benchMetrics parses the output of Go benchmarks, and returns the values of each unit.
func benchMetrics(out []byte) map[string][]float64 {
	metrics := map[string][]float64{}
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		for i := 1; i < len(words); i++ {
			if v, err := strconv.ParseFloat(words[i-1], 64); err == nil {
				metrics[words[i]] = append(metrics[words[i]], v)
			}
		}
	}
	return metrics
}

// runFanout measures P8: the cost of delivering an event to WebSocket readers.
func runFanout(ctx context.Context, _ *bench) ([]Result, error) { return fanout(ctx) }

// runConnectorMemory measures P16: the live memory of the connector.
func runConnectorMemory(ctx context.Context, b *bench) ([]Result, error) {
	return b.firstSyncs(ctx, "P16")
}

// runFirstSyncs measures P17: the processor time of simultaneous first syncs.
func runFirstSyncs(ctx context.Context, b *bench) ([]Result, error) { return b.firstSyncs(ctx, "P17") }

func (b *bench) firstSyncs(ctx context.Context, figure string) ([]Result, error) {
	if b.synced == nil {
		var err error
		if b.synced, err = fanout(ctx, "-sync", "-readers", "500"); err != nil {
			return nil, err
		}
	}
	return slices.DeleteFunc(slices.Clone(b.synced), func(r Result) bool { return r.Figure != figure }), nil
}

func fanout(ctx context.Context, flags ...string) ([]Result, error) {
	out, err := output(ctx, "go", append([]string{"run", "./host/internal/fanout", "-json"}, flags...)...)
	if err != nil {
		return nil, err
	}
	var results []Result
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		var r Result
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return nil, fmt.Errorf("%s: %w", lines.Text(), err)
		}
		results = append(results, r)
	}
	return results, nil
}
