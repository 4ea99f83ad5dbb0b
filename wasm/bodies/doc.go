// Package bodies is the codec of object bodies: what the connector encodes
// once, what rests in the guest as it arrived, and what the guest decodes when
// somebody looks at an object.
//
// [Decode] is the decoder that the engine is opened with. It knows the codecs
// JSON (passed through), S2 and S2 with a dictionary. [Encoder] is the other
// side, for connectors, and [TrainDictionary] makes its dictionary out of
// sample objects.
//
// The encoder is klauspost/compress/s2. The decoder is our own, a hundred
// lines after the format's description: the upstream package brings crypto and
// os along through its stream writer and adds 124 kB of brotli to a module of
// 422 kB, ours 8 kB with its error texts. A fuzz test holds the two to the same answers. For the
// same reason the encoder is left out of wasip1 builds.
//
// Measured by BenchmarkEncode and BenchmarkDecode on 2,000 pods of 4.6 kB,
// generated after the one in testdata, with a dictionary (49 kB) trained on 100
// others; amd64, one core, nothing allocated; the module's size is in brotli:
//
//	codec    bytes/object  ratio  encode      decode      in wazero   module
//	JSON     4655          1.00   -           0.1 µs      0.1 µs      +0 kB
//	S2       2417          0.52   14 µs       7 µs        60 µs       +8 kB
//	S2Dict    441          0.09   19 µs       3 µs        17 µs       +8 kB
//
// Bodies are encoded at S2's middle level. The strongest saves another seventh
// and takes twenty times as long; the fastest is twice as fast and a tenth
// larger.
package bodies
