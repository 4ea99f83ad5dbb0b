// Package selectors compares core/selector with the selectors of Kubernetes,
// k8s.io/apimachinery/pkg/labels and pkg/fields. Both must reject the same texts. An
// accepted selector must print the same canonical text, match the same sets and
// require the same exact values.
//
// The texts come from a grammar, from mutations of its output, from random bytes, and
// from every short string of tokens. A run of a few seconds is part of the ordinary
// tests. These commands run longer:
//
//	go test ./selectors -cases 5000000
//	go test ./selectors -run '^$' -fuzz '^FuzzLabels$'
//
// Two differences are deliberate, and the regression tests of core/selector cover
// them. In core/selector, a set requirement that is built, not parsed, from
// duplicate values has each value once. Beyond twelve requirements, the library's
// sort is not stable, and ours keeps requirements on one key in the written order.
// Therefore duplicate values are not built here, and the order in long selectors is
// not compared.
package selectors
