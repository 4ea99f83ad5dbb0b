// Package replay holds the driver that replays transcripts of scenarios in
// JavaScript runtimes.
//
// Driver exports replay(transcripts, module, report) and uses no interface of
// any one runtime. Node is the program around it for Node.
package replay

import _ "embed"

// Driver is replay.mjs.
//
//go:embed replay.mjs
var Driver []byte

// Node is node.mjs, which imports replay.mjs from beside it.
//
//go:embed node.mjs
var Node []byte
