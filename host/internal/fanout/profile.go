package main

import (
	"errors"
	"os"
	"runtime/pprof"
)

// profiled calls f and writes a CPU profile of that call to a file.
func profiled(name string, f func() error) error {
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	if err := pprof.StartCPUProfile(file); err != nil {
		return errors.Join(err, file.Close())
	}
	err = f()
	pprof.StopCPUProfile()
	return errors.Join(err, file.Close())
}
