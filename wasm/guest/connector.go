//go:build wasip1 && !direct

package main

import "github.com/watchglass/watchglass/core"

// newEngine makes engines on connectors.
var newEngine = core.New
