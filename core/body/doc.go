// Package body is the codec of object bodies. The connector encodes a body once. The
// engine stores it unmodified, and decodes it when the object is read.
//
// [Decode] is the engine's decoder. It decodes plain JSON, packed bodies, and deltas against
// another version of the object. [Encoder] is the encoder for connectors; wasip1 builds omit it.
//
// # Confidentiality
//
// A packed body depends on the JSON of one object and on the dictionary. A delta also depends on an
// earlier version of that object. The dictionary is public text (package skeleton). Therefore
// neither the content of a body nor its length discloses anything about another object. A snapshot
// compresses bodies once more, in blocks. A reader receives a block only if the reader may read all
// objects of the block (package session). A dictionary trained on objects would make bodies
// smaller, but would disclose those objects to every reader.
//
// # Format
//
// Packed bodies and deltas are blocks of one byte-aligned format of literals and copies,
// based on Snappy and S2. Copies can also refer to the dictionary, which precedes the
// output. In a delta, the base is between the dictionary and the output. The format
// differs from S2 in two ways:
//
//   - One operation continues the last copy from the base, or from the dictionary if
//     there is no base. This operation usually takes one byte, whereas most other copies
//     take two or three. Half of all copies use it.
//   - UUIDs, times and hexadecimal digests are tokens of half their length. Such texts
//     make up most of the differences between pods.
//
// The original decoder of S2 lacks both operations, and would make the module larger.
// Sizes are in host/PERFORMANCE.md (P7, P9); BenchmarkEncode and BenchmarkDelta report
// them.
package body
