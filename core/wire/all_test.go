package wire

import "slices"

// frame is the interface that every frame type implements.
type frame interface {
	Frame
	Append(dst []byte) []byte
}

// everyFrame lists all frame types.
var everyFrame = slices.Concat(FromReader, FromConnector, Stored, Persisted, FromProgram, FromEngine, Alone)

// blank returns an empty frame of a type, or nil if there is no such type.
func blank(t Type) frame {
	f, _ := everyFrame.New(t) // the error reports that the type is unknown
	b, _ := f.(frame)
	return b
}
