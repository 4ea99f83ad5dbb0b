// Package replay holds the drivers that replay transcripts of scenarios in
// JavaScript runtimes.
//
// replay.mjs does the work and uses no interface of any one runtime. Beside it
// is an entry for each: node.mjs, browser.html with browser.mjs, and workerd.mjs
// with its configuration workerd.capnp.
package replay

import "embed"

// Files are all of them. Put them into one directory, and beside them the
// module as module.wasm; Node and browsers also read transcripts.json there, an
// array with the text of each transcript.
//
//go:embed *.mjs *.html *.capnp
var Files embed.FS
