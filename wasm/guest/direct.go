//go:build wasip1 && direct

package main

import "github.com/watchglass/watchglass/core"

// newEngine makes engines that read Kubernetes themselves, too.
var newEngine = core.NewDirect
