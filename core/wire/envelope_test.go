package wire

import (
	"bytes"
	"math"
	"math/rand"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
)

// lengths contains text lengths around those at which a varint grows, and around the size
// of the scratch space for cells.
var lengths = []int{0, 1, 0x7e, 0x7f, 0x80, 0x81, 0xff, 511, 512, 513, 0x3fff, 0x4000}

func TestEnvelopeAtEveryLength(t *testing.T) {
	for _, n := range lengths {
		text := strings.Repeat("x", n)
		o := api.Object{
			Key: api.Key("k" + text), UID: text, Fields: []string{text, "last"},
			Columns: []api.Value{{Kind: api.String, Text: text}, {Kind: api.Integer, Int: int64(n)}},
			Body:    api.Body{Codec: api.JSON, Data: []byte(text)},
		}
		checkEnvelope(t, &o)
	}
}

func TestEnvelopeOfRandomObjects(t *testing.T) {
	rnd := rand.New(rand.NewSource(1))
	text := func() string {
		b := make([]byte, lengths[rnd.Intn(9)])
		rnd.Read(b)
		return string(b)
	}
	for range 2000 {
		o := api.Object{Key: api.Key("k" + text()), UID: text(), Body: api.Body{Codec: api.Codec(rnd.Intn(4))}}
		if o.Body.Codec != api.NoBody {
			o.Body.Data = []byte(text())
		}
		for range rnd.Intn(4) {
			o.Fields = append(o.Fields, text())
		}
		for range rnd.Intn(8) {
			v := api.Value{Kind: api.ValueKind(rnd.Intn(7))}
			switch v.Kind {
			case api.Bool:
				v.Int = rnd.Int63n(2)
			case api.Date, api.Duration:
				v.Int = int64(rnd.Uint64())
			case api.Integer:
				v.Int, v.Time = int64(rnd.Uint64()), rnd.Int63()>>rnd.Intn(64)
			case api.Number:
				v.Float = rnd.NormFloat64()
			case api.String:
				if v.Text = text(); rnd.Intn(3) == 0 {
					v.Time = rnd.Int63() >> rnd.Intn(64)
				}
				if len(o.Fields) > 0 && rnd.Intn(4) == 0 {
					v.Text = o.Fields[0]
				}
			}
			o.Columns = append(o.Columns, v)
		}
		checkEnvelope(t, &o)
	}
}

func checkEnvelope(t *testing.T, o *api.Object) {
	t.Helper()
	e := Envelope(AppendEnvelope([]byte("before"), o)[len("before"):])
	if err := e.Validate(); err != nil {
		t.Fatal(err)
	}
	if e.Key() != o.Key || e.UID() != o.UID {
		t.Fatalf("key %q uid %q, want %q %q", e.Key(), e.UID(), o.Key, o.UID)
	}
	for i := -1; i <= len(o.Fields); i++ {
		want := ""
		if i >= 0 && i < len(o.Fields) {
			want = o.Fields[i]
		}
		if got := e.Field(i); got != want {
			t.Fatalf("field %d is %q, want %q", i, got, want)
		}
	}
	for i := -1; i <= len(o.Columns); i++ {
		want := api.Value{}
		if i >= 0 && i < len(o.Columns) {
			want = o.Columns[i]
		}
		if got := e.Column(i); got != want {
			t.Fatalf("column %d is %v, want %v", i, got, want)
		}
	}
	if b := e.Body(); b.Codec != o.Body.Codec || !bytes.Equal(b.Data, o.Body.Data) {
		t.Fatalf("body %v, want %v", b, o.Body)
	}
	bare := Envelope(e.AppendWithBody(nil, api.Body{}))
	if err := bare.Validate(); err != nil {
		t.Fatalf("without its body: %v", err)
	}
	if bare.Key() != o.Key || len(bare.Body().Data) > 0 || !bytes.Equal(bare.AppendWithBody(nil, o.Body), e) {
		t.Fatal("taking the body off and putting it back gives another envelope")
	}
}

// The fast and slow paths of layout return the same offsets, wherever the envelope is
// truncated.
func TestLayoutOfEveryFrame(t *testing.T) {
	long := strings.Repeat("x", 300)
	for _, key := range []api.Key{"a", "ns/a", api.Key(long[:127]), api.Key(long[:128]), api.Key(long)} {
		for _, uid := range []string{"", "u", "0f6a7c1e-5d6b-4f2e-9a44-0123456789ab", long} {
			for _, fields := range [][]string{nil, {"Running"}, {long}, {strings.Repeat(long, 60)}} {
				e := Envelope(AppendEnvelope(nil, &api.Object{Key: key, UID: uid, Fields: fields, Body: api.Body{Codec: api.JSON, Data: []byte("{}")}}))
				for n := 0; n <= len(e); n += 1 + n/500 {
					r := reader{b: e[:n]}
					r.bytes()
					r.skipUID()
					wantCells := r.off
					r.bytes()
					wantCodec := r.off
					if r.err != nil {
						wantCells, wantCodec = n, n
					}
					cells, codec := e[:n].layout()
					if cells != wantCells || codec != wantCodec {
						t.Fatalf("%d bytes of %x: cells at %d and codec at %d, want %d and %d", n, e, cells, codec, wantCells, wantCodec)
					}
				}
				if !e.IsOf(key) || e.IsOf(key+"x") || e.IsOf(key[1:]) || Envelope(nil).IsOf(key) {
					t.Fatalf("%x is of another object than %s", e, key)
				}
			}
		}
	}
}

func TestSameCells(t *testing.T) {
	envelope := func(change func(*api.Object)) Envelope {
		o := api.Object{
			Key: "ns/a", UID: "u", Fields: []string{"a", "ns", "Running"},
			Columns: []api.Value{{Kind: api.Integer, Int: 3}}, Body: api.Body{Codec: api.JSON, Data: []byte("{}")},
		}
		change(&o)
		return AppendEnvelope(nil, &o)
	}
	plain := envelope(func(*api.Object) {})
	for name, c := range map[string]struct {
		change func(*api.Object)
		same   bool
	}{
		"nothing":      {func(*api.Object) {}, true},
		"the body":     {func(o *api.Object) { o.Body = api.Body{Codec: api.Delta, Data: []byte("longer")} }, true},
		"no body":      {func(o *api.Object) { o.Body = api.Body{} }, true},
		"a field":      {func(o *api.Object) { o.Fields[2] = "Pending" }, false},
		"a last field": {func(o *api.Object) { o.Fields = append(o.Fields, "") }, false},
		"a column":     {func(o *api.Object) { o.Columns[0].Int++ }, false},
		"no columns":   {func(o *api.Object) { o.Columns = nil }, false},
		"the uid":      {func(o *api.Object) { o.UID = "v" }, false},
	} {
		want := api.Cells(0)
		if c.same {
			want = api.AllCells
		}
		other := envelope(c.change)
		if plain.SameCells(other) != want || other.SameCells(plain) != want {
			t.Errorf("%s: %x and %x, want %x", name, plain.SameCells(other), other.SameCells(plain), want)
		}
	}
	for n := range len(plain) - len("{}") - 1 {
		if plain[:n].SameCells(plain[:n]) != 0 {
			t.Errorf("%d bytes of an envelope have cells", n)
		}
	}
}

func TestFrameLengths(t *testing.T) {
	for _, n := range append(lengths, 0x1fffff, 0x200000) {
		want := Dictionary{ID: 1, Data: bytes.Repeat([]byte{'x'}, n)}
		for _, prefix := range []string{"", "before"} {
			b := want.Append([]byte(prefix))
			b = (&Reconnect{}).Append(b)
			typ, payload, rest, err := Next(b[len(prefix):])
			if err != nil || typ != TypeDictionary || len(rest) != 2 {
				t.Fatalf("%d bytes: type %#x, %d bytes left, %v", n, typ, len(rest), err)
			}
			var got Dictionary
			if err := got.Parse(payload); err != nil || !bytes.Equal(got.Data, want.Data) {
				t.Fatalf("%d bytes: %v", n, err)
			}
		}
	}
}

// A text that occurs earlier in the envelope is not encoded again, and still decodes to
// the same text.
func TestEnvelopeDoesNotRepeatTexts(t *testing.T) {
	const uid = "6c3a1b9e-0d7f-4c55-9f64-2f2f3a9f7a01"
	o := api.Object{
		Key: "kube-system/coredns", UID: uid, Fields: []string{"coredns", "kube-system", "node-a", "Running", ""},
		Columns: []api.Value{{Kind: api.String, Text: "Running"}, {Kind: api.String, Text: "coredns"}, {Kind: api.String}, {Kind: api.Integer, Int: 3}},
	}
	checkEnvelope(t, &o)
	const key, packed, cells = 1 + 19, 1 + 16, 1 + 1 + (1 + 1 + 7 + 8 + 1) + 1 + (1 + 1 + 1 + 2)
	if n := len(AppendEnvelope(nil, &o)); n != key+packed+cells+1 {
		t.Errorf("%d bytes, want %d", n, key+packed+cells+1)
	}
	for _, other := range []string{
		strings.ToUpper(uid), uid + "0", uid[:35], uid[:35] + "g", strings.Replace(uid, "-", "0", 1), "0" + uid[1:8] + "00" + uid[10:], "x", "",
	} {
		o.UID = other
		checkEnvelope(t, &o)
	}
	o.Fields = make([]string, maxShared+2)
	for i := range o.Fields {
		o.Fields[i] = strings.Repeat("f", i)
		o.Columns = append(o.Columns, api.Value{Kind: api.String, Text: o.Fields[i]})
	}
	checkEnvelope(t, &o)
}

// A text with a time does not refer to a field with the same text, because the time would
// be lost.
func TestEnvelopeOfTextsWithTimes(t *testing.T) {
	const at = 1_700_000_000_123
	o := api.Object{Key: "ns/a", Fields: []string{"a", "Started", ""}}
	for _, text := range []string{"a", "Started", "", strings.Repeat("x", 300)} {
		for _, time := range []int64{0, at, -at, math.MaxInt64} {
			o.Columns = append(o.Columns, api.Value{Kind: api.String, Text: text, Time: time})
		}
	}
	checkEnvelope(t, &o)
	var x CellIndex
	x.Read(AppendEnvelope(nil, &o))
	var texts []string
	x.Texts(func(text string) bool { texts = append(texts, text); return true })
	if len(texts) != 12 || texts[0] != "a" || texts[5] != "Started" {
		t.Errorf("the texts are %q", texts)
	}
}

func TestEnvelopeRefusesInvalidTextReferences(t *testing.T) {
	o := api.Object{Key: "a", Fields: []string{"f"}, Columns: []api.Value{{Kind: api.String, Text: "f"}}}
	e := Envelope(AppendEnvelope(nil, &o))
	at := bytes.IndexByte(e, sameAsField)
	e[at]++
	if err := e.Validate(); err == nil || !strings.Contains(err.Error(), "repeats a missing field") {
		t.Fatal(err)
	}
	if v := e.Column(0); v.Text != "" {
		t.Fatal(v)
	}
}

func TestEnvelopeRefusesABodyWithoutACodec(t *testing.T) {
	e := Envelope(AppendEnvelope(nil, &api.Object{Key: "a"}))
	require.NoError(t, e.Validate())
	require.ErrorContains(t, append(e, '{').Validate(), "body without a codec")
	for _, key := range []string{"a", strings.Repeat("a", 200)} { // with and without the fast path
		patch := append(appendBytes(nil, key), 0, byte(api.NoBody))
		_, status := Patch(patch).validate()
		require.Nil(t, status)
		_, status = Patch(append(patch, '{')).validate()
		require.ErrorContains(t, status, "body without a codec")
	}
}

// Skipping cells advances the reader by as many bytes as reading the same cells.
func TestSkippingEqualsReading(t *testing.T) {
	random := rand.New(rand.NewSource(1))
	for range 100_000 {
		b := make([]byte, random.Intn(12))
		for i := range b {
			switch b[i] = byte(random.Intn(7)); random.Intn(8) {
			case 0:
				b[i] |= 0x80
			case 1:
				b[i] |= sameAsField
			case 2:
				b[i] = byte(random.Intn(256))
			}
		}
		n, fields := random.Intn(4), []int{0, 3, maxShared, 300}[random.Intn(4)]
		a, c := reader{b: b}, reader{b: b}
		if random.Intn(2) == 0 {
			a.skipFields(n)
			for range n {
				c.field("")
			}
		} else {
			a.skipColumns(n, fields)
			for range n {
				if i, ok := c.sharing(); !ok {
					c.value()
				} else if i >= fields {
					c.fail("cell that repeats a missing field")
				}
			}
		}
		if a.off != c.off || (a.err == nil) != (c.err == nil) || a.err != nil && a.err.Message != c.err.Message {
			t.Fatalf("%d of %x with %d fields: skipped to %d, %v; read to %d, %v", n, b, fields, a.off, a.err, c.off, c.err)
		}
	}
}

// Events with an empty key are refused, because a deletion without a key cannot be
// applied.
func TestEventsRefuseAnEmptyKey(t *testing.T) {
	f := Events{Subscription: 1, ResourceVersion: 2, Changes: []Change{{Type: api.Deleted, ResourceVersion: 2}}}
	_, payload, _, _ := Next(f.Append(nil))
	if err := new(Events).Parse(payload); err == nil {
		t.Fatal("a deletion without a key was accepted")
	}
}

func BenchmarkEvents(b *testing.B) {
	f := Events{Subscription: 1, ResourceVersion: 1000}
	body := api.Body{Codec: api.Packed, Data: bytes.Repeat([]byte{'x'}, 300)}
	for i := range 100 {
		c := Change{Type: api.Modified, ResourceVersion: api.ResourceVersion(900 + i), LabelSet: uint32(i)}
		if i%10 == 9 {
			c.Type, c.Key = api.Deleted, "default/web-1"
		} else {
			c.Envelope = pod(body)
		}
		f.Changes = append(f.Changes, c)
	}
	encoded := f.Append(nil)
	b.Run("Append", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(encoded)))
		dst := make([]byte, 0, 2*len(encoded))
		for b.Loop() {
			dst = f.Append(dst[:0])
		}
	})
	b.Run("Parse", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(encoded)))
		_, payload, _, _ := Next(encoded)
		var g Events
		for b.Loop() {
			if err := g.Parse(payload); err != nil {
				b.Fatal(err)
			}
		}
	})
}
