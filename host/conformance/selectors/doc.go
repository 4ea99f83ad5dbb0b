// Package selectors holds core/selector against the selectors of Kubernetes
// itself, k8s.io/apimachinery/pkg/labels and pkg/fields: the same texts must be
// refused, and what is accepted must print the same canonical text, match the
// same sets and require the same exact values.
//
// The texts come from a grammar, from mutations of what it makes, from noise,
// and from every short string of tokens. A run of a few seconds is part of the
// ordinary tests; a long one is
//
//	go test ./selectors -cases 5000000
//	go test ./selectors -run '^$' -fuzz '^FuzzLabels$'
//
// Two differences are deliberate, and pinned by the regression tests of
// core/selector. A set requirement that is built, not parsed, from duplicate
// values has each value once. And beyond twelve requirements, where the
// library's sort is no longer stable, ours is: requirements on one key stay in
// the order written. So duplicate values are not built here, and the order in
// long selectors is not compared.
package selectors
