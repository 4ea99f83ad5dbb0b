package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Result is the result of a figure, or of one case of a figure.
type Result struct {
	Figure string  `json:"figure"`         // "P1"
	Case   string  `json:"case,omitempty"` // "node", if a figure has several cases
	Ratio  float64 `json:"ratio"`
	Unit   string  `json:"unit,omitempty"` // unit of Ratio if Ratio is an absolute value: "ms"
	Sides  []Side  `json:"sides"`          // the parts of the ratio
	Target string  `json:"target,omitempty"`
	Met    *bool   `json:"met,omitempty"`
	tooFar bool    // beyond the allowed value
}

// Side is one of the two numbers of a ratio, with its unit.
type Side struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit"` // "/s", "ms", "B"
}

// target is the required bound for one case of a figure.
type target struct {
	name    string // name of the case
	atLeast float64
	atMost  float64
	// allowed is the bound for -check. It is near the last result, so that -check detects
	// regressions. Until the target is met, allowed is above atMost; from then on, it is at
	// most atMost. When the result improves, change allowed to match.
	allowed float64
}

// judge sets the figure of the result. If the result's case has a target, judge also
// records the target and whether the result meets it.
func (r *Result) judge(f figure) {
	r.Figure = f.id
	for _, t := range f.targets {
		if t.name != r.Case {
			continue
		}
		met := r.Ratio >= t.atLeast
		r.Target = ">= " + short(t.atLeast) + r.unit()
		if t.atMost > 0 {
			met = r.Ratio <= t.atMost
			r.Target = "<= " + short(t.atMost) + r.unit()
		}
		r.Met = &met
		r.tooFar = t.allowed > 0 && r.Ratio > t.allowed
	}
}

func (r Result) unit() string {
	if r.Unit == "" {
		return "x"
	}
	return " " + r.Unit
}

func (r Result) name() string { return strings.TrimSpace(r.Figure + " " + r.Case) }

// String formats the result as one line.
func (r Result) String() string {
	var sides []string
	for _, s := range r.Sides {
		sides = append(sides, s.String())
	}
	line := fmt.Sprintf("bench %s %s%s (%s)", r.name(), short(r.Ratio), r.unit(), strings.Join(sides, ", "))
	if r.Met == nil {
		return line
	}
	verdict := "met"
	if !*r.Met {
		verdict = "MISSED"
	}
	return fmt.Sprintf("%-84s target %-9s %s", line, r.Target, verdict)
}

func (s Side) String() string {
	if strings.HasPrefix(s.Unit, "/") {
		return s.Name + " " + short(s.Value) + s.Unit
	}
	return s.Name + " " + short(s.Value) + " " + s.Unit
}

// short formats a number with three significant digits, but keeps all digits before the
// decimal point.
func short(v float64) string {
	if v == 0 || math.Abs(v) >= 100 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	digits := max(0, 2-int(math.Floor(math.Log10(math.Abs(v)))))
	text := strconv.FormatFloat(v, 'f', digits, 64)
	return strings.TrimRight(strings.TrimRight(text, "0"), ".")
}
