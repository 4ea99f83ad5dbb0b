package bodies_test

import (
	"bytes"
	_ "embed"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/wasm/bodies"
)

//go:embed testdata/pod.json
var pod []byte

// pods generates pods after the one in testdata: thirty applications, and for
// each pod everything that is its own (name, uids, node, addresses, times,
// hashes, restarts).
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
		apps := rand.New(rand.NewPCG(uint64(app), 7)) // what all pods of an application share
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

func encoder(t testing.TB, dictionary []byte) *bodies.Encoder {
	t.Helper()
	e, err := bodies.NewEncoder(dictionary)
	require.NoError(t, err)
	return e
}

func TestEveryCodecRoundTrips(t *testing.T) {
	dictionary := bodies.TrainDictionary(pods(1, 100))
	objects := append(pods(2, 50), pod, []byte("{}"), nil,
		bytes.Repeat(pod, 40), // more than 64 KiB, where the dictionary ends
		bytes.Repeat([]byte("a"), 1<<20))
	for _, dict := range [][]byte{nil, dictionary} {
		e := encoder(t, dict)
		for _, object := range objects {
			body := e.Encode([]byte("before"), object)
			plain, err := bodies.Decode([]byte("in front "), body, dict, nil)
			require.NoError(t, err)
			require.Equal(t, "in front "+string(object), string(plain))
		}
	}
}

func TestCodecFollowsWhatHelps(t *testing.T) {
	dictionary := bodies.TrainDictionary(pods(1, 100))
	random := make([]byte, 4096)
	for i, r := 0, rand.New(rand.NewPCG(1, 2)); i < len(random); i++ {
		random[i] = byte(r.Uint32())
	}
	require.Equal(t, api.S2, encoder(t, nil).Encode(nil, pod).Codec)
	require.Equal(t, api.S2Dict, encoder(t, dictionary).Encode(nil, pod).Codec)
	require.Equal(t, api.JSON, encoder(t, dictionary).Encode(nil, random).Codec, "what does not shrink stays plain")
	require.Equal(t, api.JSON, encoder(t, dictionary).Encode(nil, []byte(`{"kind":"Pod"}`)).Codec)
}

func TestDecodeNamesTheFault(t *testing.T) {
	dictionary := bodies.TrainDictionary(pods(1, 20))
	good := encoder(t, nil).Encode(nil, pod)
	withDictionary := encoder(t, dictionary).Encode(nil, pod)
	for _, c := range []struct {
		name       string
		body       api.Body
		dictionary []byte
		want       string
	}{
		{"metadata only", api.Body{}, nil, "500 InternalError: object has no body: its collection holds metadata only"},
		{"unknown codec", api.Body{Codec: 9}, nil, "500 InternalError: body has the unknown codec 9"},
		{"empty", api.Body{Codec: api.S2}, nil, "500 InternalError: body is not a valid S2 block: corrupt at byte 0"},
		{"cut off", api.Body{Codec: api.S2, Data: good.Data[:20]}, nil, "500 InternalError: body is not a valid S2 block: corrupt at byte 3"},
		{"forged length", api.Body{Codec: api.S2, Data: []byte{0xff, 0xff, 0xff, 0xff, 0x0f, 0}}, nil, "413 RequestEntityTooLarge: body decodes to 4294967295 bytes; the most is 16777216"},
		{"repeat before any copy", api.Body{Codec: api.S2, Data: []byte{4, 0x01, 0}}, nil, "500 InternalError: body is not a valid S2 block: corrupt at byte 3"},
		{"no dictionary", withDictionary, nil, "500 InternalError: body is encoded with a dictionary, and the one at hand (0 bytes) is missing or invalid"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dst, err := bodies.Decode([]byte("kept"), c.body, c.dictionary, nil)
			require.EqualError(t, err, c.want)
			require.Equal(t, "kept", string(dst))
		})
	}
}

func TestTrainingIsDeterministicAndBounded(t *testing.T) {
	dictionary := bodies.TrainDictionary(pods(1, 300))
	require.Equal(t, dictionary, bodies.TrainDictionary(pods(1, 300)))
	require.LessOrEqual(t, len(dictionary), 64<<10+3)

	var large [][]byte
	for i := range 20 { // 40 MB without anything in common but with itself
		large = append(large, bytes.Repeat(pods(uint64(i), 1)[0], 400))
	}
	require.LessOrEqual(t, len(bodies.TrainDictionary(large)), 64<<10+3)
	require.Nil(t, bodies.TrainDictionary(nil))
	require.Nil(t, bodies.TrainDictionary([][]byte{pod}), "one sample has nothing in common with others")
	require.Nil(t, bodies.TrainDictionary([][]byte{{}, []byte("{}"), []byte("x")}))
}

func TestEncoderRefusesAForeignDictionary(t *testing.T) {
	_, err := bodies.NewEncoder([]byte("short"))
	require.EqualError(t, err, "400 BadRequest: not a dictionary that TrainDictionary made")
}

func TestDecodeAllocatesOnlyTheResult(t *testing.T) {
	dictionary := bodies.TrainDictionary(pods(1, 100))
	body := encoder(t, dictionary).Encode(nil, pod)
	dst := make([]byte, 0, len(pod))
	require.Zero(t, testing.AllocsPerRun(100, func() {
		_, _ = bodies.Decode(dst, body, dictionary, nil)
	}))
}
