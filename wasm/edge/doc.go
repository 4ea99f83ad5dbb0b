// Command edge is host/edge as a worker of Cloudflare's runtime, by way of
// github.com/syumai/workers. The runtime makes a new instance of it for every
// request and throws it away afterwards, so it holds nothing.
//
// Built with GOOS=js it reads the bindings
//
//	WATCHGLASS           the namespace of the Durable Objects
//	WATCHGLASS_KEY       the keys of tokens, see host/access/token; a secret
//	WATCHGLASS_CLUSTERS  the clusters, see host/edge; may be missing
//
// and is run by js/src/edge/program.ts. A list that breaks off must not look like
// a list, and a worker has no connection to cut: the program ends with code 1,
// upon which its runner breaks the response off.
package main
