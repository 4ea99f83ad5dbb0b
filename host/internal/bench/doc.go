// Command bench compares watchglass with the alternatives that users have. It prints one
// line per result: the ratio, its parts, the target, and whether the target is met.
//
// The two sides of a figure run alternately within one command. In V8, each side has its
// own process. Both sides process the same changes, which one seed determines. Package
// clustersim generates the objects. Our side replays the messages of a real connector to
// a real engine. The peers read the same objects as the JSON of Kubernetes lists and
// watches. Our messages contain about a hundred changes each, as for a reader that is no
// faster than its cluster. A ratio is the median of at least five rounds. Absolute
// numbers depend on the machine.
//
// figures.go has one entry per figure. The JavaScript part is a command of js/bench
// that prints one [Result] as JSON per line. Any other command with this output can
// be a figure as well.
//
// Results, profiles and failed experiments are in host/PERFORMANCE.md.
package main
