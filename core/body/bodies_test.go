package body_test

import (
	"bytes"
	_ "embed"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/body"
	"github.com/watchglass/watchglass/core/body/skeleton"
)

var podSkeleton = skeleton.Dictionary(api.Resource{Version: "v1", Name: "pods"}, "Pod")

//go:embed testdata/pod.json
var pod []byte

// pods generates pods that resemble the one in testdata. The pods belong to thirty
// applications. Each pod has its own name, uids, node, addresses, times, hashes and
// restart count.
func pods(seed uint64, n int) [][]byte {
	r := rand.New(rand.NewPCG(seed, 1))
	random := func(bytes int) string {
		b := make([]byte, bytes)
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		return hex.EncodeToString(b)
	}
	uid := func() string {
		h := random(16)
		return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
	}
	out := make([][]byte, n)
	for i := range out {
		app := r.IntN(30)
		apps := rand.New(rand.NewPCG(uint64(app), 7)) // the data that all pods of an application share
		name := []string{"cart", "search", "billing", "ledger", "mailer", "frontend"}[app%6] + "-" + strconv.Itoa(app/6)
		hash := fmt.Sprintf("%x", apps.Uint64())[:10]
		node := r.IntN(500)
		out[i] = []byte(strings.NewReplacer(
			"6b7f9c8d4d-x2x9q", hash+"-"+random(3)[:5],
			"6b7f9c8d4d", hash,
			"checkout", name,
			"namespace\":\"shop", "namespace\":\"team-"+strconv.Itoa(app%8),
			"4.17.2", fmt.Sprintf("%d.%d.%d", apps.IntN(9), apps.IntN(40), apps.IntN(10)),
			"0f2f2d5c-6a0e-4c3f-a1b9-1d0f3c9a7e55", fmt.Sprintf("%08x-6a0e-4c3f-a1b9-%012x", apps.Uint32(), apps.Uint64()>>16),
			"7c1b9f0e-52b4-4c7e-9b0a-3b7d7e6f1a20", uid(),
			"4q8zt", random(3)[:5],
			"node-0017", fmt.Sprintf("node-%04d", node),
			"10.0.3.17", fmt.Sprintf("10.0.%d.%d", node/250, node%250),
			"10.244.17.42", fmt.Sprintf("10.244.%d.%d", node%256, r.IntN(250)),
			"08:21:17.334271109", fmt.Sprintf("%02d:%02d:17.%09d", r.IntN(24), r.IntN(60), r.IntN(1e9)),
			"2026-01-12T08:21", fmt.Sprintf("2026-%02d-%02dT%02d:%02d", 1+r.IntN(12), 1+r.IntN(28), r.IntN(24), r.IntN(60)),
			"b5c7d1f7a0d94d1a8f2d3e4c5b6a79880112233445566778899aabbccddeeff0", random(32),
			"3e1f0a9b8c7d6e5f4a3b2c1d0e9f8a7b6c5d4e3f2a1b0c9d8e7f6a5b4c3d2e1f", fmt.Sprintf("%016x%016x%016x%016x", apps.Uint64(), apps.Uint64(), apps.Uint64(), apps.Uint64()),
			`"restartCount":0`, `"restartCount":`+strconv.Itoa(r.IntN(9)),
		).Replace(string(pod)))
	}
	return out
}

func encoder(t testing.TB, dictionary []byte) *body.Encoder {
	t.Helper()
	e, err := body.NewEncoder(dictionary)
	require.NoError(t, err)
	return e
}

func TestBodiesRoundTrip(t *testing.T) {
	objects := append(pods(2, 50), pod, []byte("{}"), nil, podSkeleton,
		bytes.Repeat(pod, 40), // beyond the range of a two-byte distance
		bytes.Repeat([]byte("a"), 1<<20),
		[]byte(strings.Repeat(`{"no":"`+strconv.Itoa(1<<40)+`"}`, 1000)))
	for _, dict := range [][]byte{nil, podSkeleton, []byte("{")} {
		e := encoder(t, dict)
		for _, object := range objects {
			packed := e.Encode([]byte("before"), object)
			plain, err := body.Decode([]byte("in front "), packed, dict, nil)
			require.NoError(t, err)
			require.Equal(t, "in front "+string(object), string(plain))
		}
	}
}

// A text of known form is encoded as a token of about half its length.
func TestTokensRoundTrip(t *testing.T) {
	e := encoder(t, nil)
	for _, c := range []struct {
		text string
		size int // maximum number of encoded bytes; zero for no limit
	}{
		{"7c1b9f0e-52b4-4c7e-9b0a-3b7d7e6f1a20", 18},
		{"7C1B9F0E-52B4-4C7E-9B0A-3B7D7E6F1A20", 37},
		{"7c1b9f0e-52b4-4c7e-9b0a-3b7d7e6f1a2", 0},
		{"7c1b9f0e-52b4-4c7e-9b0a-3b7d7e6f1a2x", 0},
		{"2026-05-01T12:00:00Z", 6},
		{"2024-02-29T23:59:59Z", 6},
		{"2000-02-29T23:59:59Z", 6},
		{"2100-02-28T00:00:00Z", 6},
		{"1970-01-01T00:00:00Z", 6},
		{"2106-02-07T06:28:15Z", 6},
		{"2106-02-07T06:28:16Z", 0},
		{"1969-12-31T23:59:59Z", 0},
		{"2023-02-29T00:00:00Z", 0},
		{"2100-02-29T00:00:00Z", 0},
		{"2026-13-01T12:00:00Z", 0},
		{"2026-05-01T24:00:00Z", 0},
		{"2026-05-01T12:00:60Z", 0},
		{"2026-05-01 12:00:00Z", 0},
		{"2026-05-01T12:00:00z", 0},
		{"2026-05-01T12:00:00.123456Z", 9},
		{"2026-05-01T12:00:00.999999Z", 9},
		{"2026-05-01T12:00:00.000000Z", 9},
		{"2026-05-01T12:00:00.12345Z", 0},
		{"2026-05-01T12:00:00.1234567Z", 0},
		{"2026-05-01T12:00:00+02:00", 0},
		{strings.Repeat("0123456789abcdef", 4), 34},
		{"0123456789ab", 8},
		{"0123456789abc", 10},
		{"0123456789a", 0},
		{strings.Repeat("ab8f31", 200), 0},
	} {
		object := []byte(strings.Repeat("=", 64) + `"` + c.text + `"`)
		packed := e.Encode(nil, object)
		plain, err := body.Decode(nil, packed, nil, nil)
		require.NoError(t, err, c.text)
		require.Equal(t, string(object), string(plain))
		without := len(e.Encode(nil, []byte(strings.Repeat("=", 64)+`""`)).Data)
		if c.size > 0 {
			require.LessOrEqual(t, len(packed.Data)-without, c.size+2, c.text)
		}
	}
}

func TestTokensOfAnyTime(t *testing.T) {
	e := encoder(t, nil)
	r := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		at := time.Unix(int64(r.Uint32()), 1000*int64(r.IntN(1_000_000))).UTC()
		object := []byte(strings.Repeat("=", 64) + `"` + at.Format("2006-01-02T15:04:05.000000Z") + `" "` + at.Format(time.RFC3339) + `"`)
		packed := e.Encode(nil, object)
		plain, err := body.Decode(nil, packed, nil, nil)
		require.NoError(t, err)
		require.Equal(t, string(object), string(plain))
		require.Less(t, len(packed.Data), 32)
	}
}

func TestCodecIsTheSmallest(t *testing.T) {
	random := make([]byte, 4096)
	for i, r := 0, rand.New(rand.NewPCG(1, 2)); i < len(random); i++ {
		random[i] = byte(r.Uint32())
	}
	require.Equal(t, api.Packed, encoder(t, nil).Encode(nil, pod).Codec)
	require.Equal(t, api.Packed, encoder(t, podSkeleton).Encode(nil, pod).Codec)
	require.Equal(t, api.JSON, encoder(t, podSkeleton).Encode(nil, random).Codec, "incompressible bodies stay plain")
	require.Equal(t, api.JSON, encoder(t, podSkeleton).Encode(nil, []byte(`{"kind":"Pod"}`)).Codec)
}

// The encoder retains no data of an object for the next one.
func TestBodiesDoNotDependOnOtherObjects(t *testing.T) {
	objects := append(pods(3, 100), pod, bytes.Repeat([]byte("abc"), 30_000), []byte(strings.Repeat("x", 100)))
	shared := encoder(t, podSkeleton)
	for i, object := range objects {
		alone := encoder(t, podSkeleton)
		want, got := alone.Encode(nil, object), shared.Encode(nil, object)
		require.Equal(t, want, got, "object %d", i)
		base := objects[(i+1)%len(objects)]
		wantDelta, _ := alone.EncodeDelta(nil, base, object, 1<<20)
		gotDelta, _ := shared.EncodeDelta(nil, base, object, 1<<20)
		require.Equal(t, wantDelta, gotDelta, "object %d", i)
	}
}

func TestDecodeNamesTheFault(t *testing.T) {
	alone := encoder(t, nil).Encode(nil, pod)
	packed := encoder(t, podSkeleton).Encode(nil, pod)
	block := func(data ...byte) api.Body { return api.Body{Codec: api.Packed, Data: data} }
	for _, c := range []struct {
		name       string
		body       api.Body
		dictionary []byte
		want       string
	}{
		{"metadata only", api.Body{}, nil, "500 InternalError: object has no body: its collection holds metadata only"},
		{"unknown codec", api.Body{Codec: 9}, nil, "500 InternalError: body has the unknown codec 9"},
		{"empty", block(), nil, "500 InternalError: body is not a valid block: corrupt at byte 0"},
		{"cut off", block(alone.Data[:20]...), nil, "500 InternalError: body is not a valid block: corrupt at byte 4"},
		{"forged length", block(0xff, 0xff, 0xff, 0xff, 0x0f, 0), nil, "413 RequestEntityTooLarge: body decodes to 4294967295 bytes; the limit is 16777216"},
		{"repeat before any copy", block(4, 0x01, 0), nil, "500 InternalError: body is not a valid block: corrupt at byte 3"},
		{"no block to continue", block(4, 0x0b), nil, "500 InternalError: body is not a valid block: corrupt at byte 2"},
		{"beyond the guide", block(8, 6<<2|3), []byte("seven b"), "500 InternalError: body is not a valid block: corrupt at byte 2"},
		{"token cut off", block(36, 0xfc, 0, 1, 2), nil, "500 InternalError: body is not a valid block: corrupt at byte 3"},
		{"token without a kind", block(36, 0xfc), nil, "500 InternalError: body is not a valid block: corrupt at byte 2"},
		{"token beyond the length", block(19, 0xfc, 1, 1, 2, 3, 4), nil, "500 InternalError: body is not a valid block: corrupt at byte 3"},
		{"microseconds beyond a second", block(27, 0xfc, 2, 1, 2, 3, 4, 0xff, 0xff, 0xff), nil, "500 InternalError: body is not a valid block: corrupt at byte 10"},
		{"another dictionary", packed, podSkeleton[:40], "500 InternalError: body is not a valid block: corrupt at byte"},
		{"dictionary too large", packed, make([]byte, 1<<17), "500 InternalError: a dictionary of 131072 bytes; the limit is 65536"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dst, err := body.Decode([]byte("kept"), c.body, c.dictionary, nil)
			require.ErrorContains(t, err, c.want)
			require.Equal(t, "kept", string(dst))
		})
	}
}

func TestEncoderRefusesALargeDictionary(t *testing.T) {
	_, err := body.NewEncoder(make([]byte, 1<<17))
	require.EqualError(t, err, "400 BadRequest: a dictionary of 131072 bytes; the limit is 65536")
}

func TestCodecAllocatesOnlyTheResult(t *testing.T) {
	e := encoder(t, podSkeleton)
	packed := e.Encode(nil, pod)
	dst := make([]byte, 0, 2*len(pod))
	require.Zero(t, testing.AllocsPerRun(100, func() { e.Encode(dst, pod) }))
	require.Zero(t, testing.AllocsPerRun(100, func() { _, _ = body.Decode(dst, packed, podSkeleton, nil) }))
}
