package body_test

import (
	"testing"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/body"
)

// eachDictionary runs a benchmark without a dictionary and with the pod dictionary,
// over 2,000 generated pods. It reports the ratio of encoded bytes to plain bytes.
func eachDictionary(b *testing.B, run func(b *testing.B, e *body.Encoder, objects [][]byte, dictionary []byte)) {
	objects := pods(2, 2000)
	for _, c := range []struct {
		name string
		dict []byte
	}{{"Alone", nil}, {"Skeleton", podSkeleton}} {
		b.Run(c.name, func(b *testing.B) {
			e := encoder(b, c.dict)
			plain, encoded := 0, 0
			for _, object := range objects {
				plain += len(object)
				encoded += len(e.Encode(nil, object).Data)
			}
			b.ReportAllocs()
			b.ResetTimer()
			run(b, e, objects, c.dict)
			b.SetBytes(int64(plain / len(objects)))
			b.ReportMetric(float64(encoded)/float64(plain), "ratio")
			b.ReportMetric(float64(encoded)/float64(len(objects)), "bytes/object")
		})
	}
}

func BenchmarkEncode(b *testing.B) {
	eachDictionary(b, func(b *testing.B, e *body.Encoder, objects [][]byte, _ []byte) {
		dst := make([]byte, 0, 64<<10)
		for i := range b.N {
			e.Encode(dst, objects[i%len(objects)])
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	eachDictionary(b, func(b *testing.B, e *body.Encoder, objects [][]byte, dictionary []byte) {
		encoded := make([]api.Body, len(objects))
		for i, object := range objects {
			encoded[i] = e.Encode(nil, object)
		}
		dst := make([]byte, 0, 64<<10)
		b.ResetTimer()
		for i := range b.N {
			if _, err := body.Decode(dst, encoded[i%len(objects)], dictionary, nil); err != nil {
				b.Fatal(err)
			}
		}
	})
}
