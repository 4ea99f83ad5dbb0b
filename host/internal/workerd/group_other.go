//go:build !unix

package workerd

import "os/exec"

func apart(*exec.Cmd) {}
