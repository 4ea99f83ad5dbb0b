// Package selectors compares core/selector with the selectors of Kubernetes,
// k8s.io/apimachinery/pkg/labels and pkg/fields. Both implementations must reject the same
// texts. An accepted selector must print the same canonical text, match the same sets and
// require the same exact values.
//
// The texts come from a grammar, from mutations of its output, from random bytes, and
// from every short string of tokens. A run of a few seconds is part of the ordinary
// tests. These commands run longer:
//
//	go test ./selectors -cases 5000000
//	go test ./selectors -run '^$' -fuzz '^FuzzLabels$'
//
// Two differences are deliberate, and the regression tests of core/selector cover them.
// First, a set requirement that core/selector builds, instead of parsing, from duplicate
// values contains each value once. Second, beyond twelve requirements, the library's sort
// is not stable, whereas core/selector keeps requirements on one key in the written order.
// The tests therefore build no duplicate values, and do not compare the order in long
// selectors.
package selectors
