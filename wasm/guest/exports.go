//go:build wasip1

package main

import (
	"unsafe"

	"github.com/watchglass/watchglass/core"
	"github.com/watchglass/watchglass/core/body"
)

// instance is the only guest of this module. It references the arenas whose addresses the
// caller uses, so the garbage collector does not free them. Go's garbage collector never
// moves an arena.
var instance = guest{newEngine: func(config []byte) (engine, error) {
	e, err := core.New(config, body.Decode)
	if err != nil {
		return nil, err
	}
	e.LoadWith(load)
	return e, nil
}}

// load asks the program for a body that was omitted from a RestoreChunk. It returns nil
// if the program does not have the body.
func load(name, length uint32) []byte {
	data := make([]byte, length)
	if hostLoad(name, unsafe.Pointer(unsafe.SliceData(data)), length) != length {
		return nil
	}
	return data
}

// hostLoad writes the body of the given name and length to the memory at "into", and
// returns the number of bytes written.
//
//go:wasmimport watchglass load
func hostLoad(name uint32, into unsafe.Pointer, length uint32) uint32

//go:wasmexport wg_abi
func abi() int32 { return abiVersion }

//go:wasmexport wg_reserve
func reserve(n int32) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(instance.reserve(n))) }

//go:wasmexport wg_open
func open(n int32) int32 { return instance.open(n) }

//go:wasmexport wg_step
func step(n int32) int32 { return instance.step(n) }

//go:wasmexport wg_tick
func tick(nowMillis int64) int32 { return instance.tick(nowMillis) }

//go:wasmexport wg_ready
func ready() int32 { return instance.ready() }

//go:wasmexport wg_out
func out() unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(instance.out)) }

//go:wasmexport wg_advance
func advance() int32 { return instance.advance() }

//go:wasmexport wg_error
func errorFrame() int32 { return instance.errorFrame() }

//go:wasmexport wg_close
func closeEngine() int32 { return instance.close() }
