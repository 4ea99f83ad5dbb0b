// Package bodies is the codec of object bodies. The connector encodes a body once, the
// guest stores it as it arrived, and decodes it when the object is read.
//
// [Decode] is the decoder that the engine is opened with. It reads plain JSON, a packed
// body, and the difference from another version of the object. [Encoder] is the other
// side, for connectors. wasip1 builds leave it out.
//
// # Confidentiality
//
// A packed body depends on the JSON of one object and on the dictionary. A difference
// also depends on an earlier version of that object. The dictionary is public text
// (package skeleton). Therefore neither the content of a body nor its length discloses
// anything about another object. A dictionary trained on objects would make bodies
// smaller, and would disclose those objects to every reader.
//
// # Format
//
// Packed bodies and differences are blocks of one byte-aligned format of literals and
// copies, after Snappy and S2. The dictionary precedes the output; in a difference, the
// base is between the two. The format differs from S2 in two ways:
//
//   - One operation continues in the text that the output mostly follows: the base, or
//     the dictionary if there is no base. It takes one byte, other copies take two or
//     three, and half of the copies are of that kind.
//   - UUIDs, times and hexadecimal digests are tokens of half their length. They are
//     most of what distinguishes one pod from another.
//
// The upstream decoder of S2 has neither, and makes the module larger. Sizes are in
// host/PERFORMANCE.md (P7, P9); BenchmarkEncode and BenchmarkDelta report them.
package bodies
