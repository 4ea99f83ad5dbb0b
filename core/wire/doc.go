// Package wire defines the frames between a connector and a reader, over the network, and
// those between an engine and the program that embeds it.
//
// A frame is a type byte, a varint length and a payload. Integers are little-endian
// base-128 varints; strings and byte strings start with a varint length. Types from 0x80
// on are optional: a receiver skips frames of unknown optional types. An unknown type
// below 0x80 is a protocol error. A message consists of one or more whole frames; a long
// message is split into [Fragment] messages.
//
// Every frame has its own file with its struct, an Append method and a Parse method.
// Append appends the whole frame to a buffer. Parse reads a payload and rejects
// truncated, oversized and trailing data. Parse allocates only slices, and reuses the
// slices that the frame already has. The strings and byte slices of a parsed frame alias
// the payload. Copy them if they must outlive the payload.
//
// [FromReader], [FromConnector], [FromProgram], [FromEngine] and [Stored] list the frames
// by direction; receivers use these sets to parse. PROTOCOL.md describes each frame.
//
// The files in testdata/wire contain the expected bytes of every frame.
package wire
