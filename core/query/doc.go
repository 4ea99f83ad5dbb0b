// Package query parses and evaluates the queries of views: the order of rows,
// searches, conditions and facets.
//
// A query is text, so that programs, command lines and URLs share one notation. It is
// parsed without a schema, and then bound to the schema of a resource, which resolves
// names. Evaluation reads envelopes only, never bodies.
package query
