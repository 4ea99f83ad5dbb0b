// Package bodies is the codec of object bodies: what the connector encodes
// once, what rests in the guest as it arrived, and what the guest decodes when
// somebody looks at an object.
//
// [Decode] is the decoder that the engine is opened with. It knows the codecs
// JSON (passed through), S2, S2 with a dictionary, and the difference from
// another version of the object. [Encoder] and [DeltaEncoder] are the other
// side, for connectors, and [TrainDictionary] makes their dictionary out of
// sample objects.
//
// The encoder is klauspost/compress/s2. The decoder is our own, a hundred
// lines after the format's description: the upstream package brings crypto and
// os along through its stream writer and adds 124 kB of brotli to a module of
// 422 kB, ours 8 kB with its error texts. A fuzz test holds the two to the same
// answers. For the same reason the encoder is left out of wasip1 builds.
//
// Measured by BenchmarkEncode and BenchmarkDecode on 2,000 pods of 4.6 kB,
// generated after the one in testdata, with a dictionary (49 kB) trained on 100
// others; amd64, one core, nothing allocated; the module's size is in brotli:
//
//	codec    bytes/object  ratio  encode      decode      in wazero   module
//	JSON     4655          1.00   -           0.1 µs      0.1 µs      +0 kB
//	S2       2417          0.52   14 µs       7 µs        60 µs       +8 kB
//	S2Dict    441          0.09   19 µs       3 µs        17 µs       +8 kB
//	Delta      20          0.004  11 µs       3.6 µs      -           +8 kB
//
// Delta is BenchmarkDelta: one small update of each pod, decoded together with
// its base. Changes that bring new text along, such as a pod that starts with
// its container's ids, take 100 to 250 bytes.
//
// A difference is an S2 block in front of whose output stand the dictionary and
// then the base's plain JSON, so that it takes a decoder of no other kind, with one
// change: the tag of copies with offsets of four bytes goes on in the base instead,
// behind the last copy out of it and what was put in the place of some of it. That
// takes a byte or two where S2 takes three to seven, and a fifth off a rollout.
// Without the dictionary the differences of a simulated cluster's pods are a
// third larger (153 against 117 bytes). The encoder is our own: upstream's
// dictionaries take 100 µs to build and longer to forget, and this one tries the
// place where the last copy would go on before it looks anywhere.
//
// Bodies are encoded at S2's middle level. The strongest saves another seventh
// and takes twenty times as long; the fastest is twice as fast and a tenth
// larger.
package bodies
