// Package replay contains the drivers that replay transcripts of scenarios in
// JavaScript runtimes.
//
// replay.mjs replays the transcripts and uses no runtime-specific interface. Each runtime
// has an entry point: node.mjs, browser.html with browser.mjs, and workerd.mjs with its
// configuration workerd.capnp.
package replay

import "embed"

// Files contains all drivers. Copy these files to one directory, with the module as
// module.wasm. Node and browsers also read transcripts.json from that directory, an array
// with the text of each transcript.
//
//go:embed *.mjs *.html *.capnp
var Files embed.FS
