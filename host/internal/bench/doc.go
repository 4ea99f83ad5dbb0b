// Command bench measures watchglass against what a user would pick instead, and
// prints one line per figure: the ratio, what it is made of, the target, and
// whether it is met. A figure that misses its target is printed like any other.
//
// Both sides of a figure run in turn within one command, and in V8 each in a
// process of its own, on the same changes, which come from one seed. The objects
// are those of host/clustersim. Our side replays what a real connector sent to a
// real engine. The peers' side is the same objects as Kubernetes list and watch
// JSON. A message of ours has about a hundred changes, as for a reader that is not
// faster than its cluster. A ratio is the median of at least five rounds; absolute
// numbers say little about another machine.
//
// The figures are in figures.go, one entry each. What runs in JavaScript is a
// command of js/bench that prints one [Result] as JSON on a line; any other
// command that does so can be a figure as well.
//
// Results, profiles and failed experiments are in host/PERFORMANCE.md.
package main
