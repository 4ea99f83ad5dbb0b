// Package query parses and evaluates the queries of views: the order of rows,
// searches, conditions and facets.
//
// A query is text, so that programs, command lines and URLs share one notation. Except
// for searches, parsing resolves the names in a query with the schema of a resource.
// Evaluation reads envelopes only, never bodies.
package query
