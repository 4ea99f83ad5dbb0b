// Command bench compares watchglass with the alternatives that users have. It prints one
// line per result: the ratio, the two compared values, the target, and whether the target
// is met.
//
// The two sides of a figure run alternately within one command. For figures in V8, each
// side runs in a separate process. Both sides process the same changes, which are
// generated from one seed. Package clustersim generates the objects. Our side replays
// the messages of a real connector to a real engine. The peers read the same objects as
// JSON lists and watches of Kubernetes. Our messages contain about a hundred changes each, which
// is typical for a reader that barely keeps up with its cluster. A ratio is the median of at
// least five rounds. Absolute numbers depend on the machine.
//
// figures.go has one entry per figure. Figures in JavaScript are commands of js/bench that
// print one [Result] as JSON per line. Any other command with this output format can also
// implement a figure.
//
// Results, profiles and failed experiments are in host/PERFORMANCE.md.
package main
