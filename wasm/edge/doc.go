// Command edge runs host/edge as a worker on Cloudflare's runtime, using
// github.com/syumai/workers. The runtime creates a new instance for every request and
// discards it afterwards, so the program keeps no state.
//
// Built with GOOS=js, it reads these bindings:
//
//	WATCHGLASS           the namespace of the Durable Objects
//	WATCHGLASS_KEY       the keys of tokens, see host/access/token; a secret
//	WATCHGLASS_CLUSTERS  the clusters, see host/edge; optional
//
// js/src/edge/program.ts runs the program. A list that is interrupted must not look like
// a complete one, but a worker cannot close the connection. After an interruption, the
// program therefore exits with code 1, and program.ts aborts the response.
package main
