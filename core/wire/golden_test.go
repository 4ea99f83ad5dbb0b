package wire

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/watchglass/watchglass/core/api"
)

var update = flag.Bool("update", false, "rewrite testdata/wire")

const goldenDir = "../../testdata/wire"

// golden is one file of testdata/wire. Hex is the whole frame. Value contains the
// frame's fields for parsers in other languages: 64-bit numbers and floats are
// decimal strings, bytes are hex, and envelopes are decoded.
type golden struct {
	Frame string `json:"frame"`
	Hex   string `json:"hex"`
	Value any    `json:"value"`
}

func (s sample) title() string { return reflect.TypeOf(s.frame).Elem().Name() }

func (s sample) file() string {
	name := s.title()
	if s.name != "" {
		name += "-" + s.name
	}
	return filepath.Join(goldenDir, name+".json")
}

func TestGolden(t *testing.T) {
	kept := map[string]bool{}
	for _, s := range samples {
		kept[s.file()] = true
		want, err := json.MarshalIndent(golden{s.title(), hex.EncodeToString(s.frame.Append(nil)), plain(reflect.ValueOf(s.frame))}, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, '\n')
		if *update {
			if err := os.WriteFile(s.file(), want, 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		got, err := os.ReadFile(s.file())
		if err != nil {
			t.Error(err)
		} else if !bytes.Equal(got, want) {
			t.Errorf("%s differs from what the code writes now; the bytes of a frame are fixed, so fix the code, or run with -update if this is a new frame", s.file())
		}
	}
	files, _ := filepath.Glob(filepath.Join(goldenDir, "*.json"))
	for _, f := range files {
		if !kept[f] {
			t.Errorf("%s has no sample", f)
		}
	}
}

// Fingerprint must change whenever an encoded sample of a frame between engine and
// program changes.
func TestFingerprintMatchesTheModule(t *testing.T) {
	var lines []string
	for _, s := range samples {
		if frame := s.frame.Append(nil); frame[0] >= byte(TypeConfig) && frame[0] < byte(Optional) {
			lines = append(lines, filepath.Base(s.file())+" "+hex.EncodeToString(frame)+"\n")
		}
	}
	slices.Sort(lines)
	hash := sha256.Sum256([]byte(strings.Join(lines, "")))
	if want := int(hash[0])<<16 | int(hash[1])<<8 | int(hash[2]); Fingerprint != want {
		t.Errorf("the frames between engine and program have changed: set Fingerprint to %#06x, and fingerprint of js/src/wire/codec.ts", want)
	}
}

func TestEveryFrameHasASample(t *testing.T) {
	seen := map[Type]bool{}
	for _, s := range samples {
		seen[Type(s.frame.Append(nil)[0])] = true
	}
	for _, row := range everyFrame {
		if !seen[row.Type] {
			t.Errorf("no sample of type %#x", row.Type)
		}
	}
}

// The number of a frame type determines the direction in which frames of the type travel.
// Programs in other languages rely on this rule.
func TestNumberOfAFrameDeterminesItsDirection(t *testing.T) {
	for name, d := range map[string]struct {
		set         Set
		first, last Type
	}{
		"FromReader": {FromReader, 0x01, 0x0f}, "FromConnector": {FromConnector, 0x10, 0x2f},
		"FromProgram": {FromProgram, 0x41, 0x5f}, "FromEngine": {FromEngine, 0x60, 0x7f},
	} {
		for _, row := range d.set {
			if number := row.Type &^ Optional; number < d.first || number > d.last {
				t.Errorf("%s: the number of type %#x is not between %#x and %#x", name, row.Type, d.first, d.last)
			}
		}
	}
}

func TestSamplesRoundTrip(t *testing.T) {
	for _, s := range samples {
		b := s.frame.Append(nil)
		typ, payload, rest, err := Next(b)
		if err != nil || len(rest) > 0 {
			t.Fatalf("%s: Next: %v, %d bytes left", s.file(), err, len(rest))
		}
		got := blank(typ)
		if err := got.Parse(payload); err != nil {
			t.Fatalf("%s: %v", s.file(), err)
		}
		if want := plain(reflect.ValueOf(s.frame)); !reflect.DeepEqual(plain(reflect.ValueOf(got)), want) {
			t.Errorf("%s: got %v, want %v", s.file(), plain(reflect.ValueOf(got)), want)
		}
		for i := range payload {
			if blank(typ).Parse(payload[:i:i]) == nil {
				t.Errorf("%s: cut at byte %d of %d was accepted", s.file(), i, len(payload))
			}
		}
		if blank(typ).Parse(append(payload[:len(payload):len(payload)], 0)) == nil {
			t.Errorf("%s: a trailing byte was accepted", s.file())
		}
	}
}

// plain returns a value in the form that golden files contain.
func plain(v reflect.Value) any {
	switch x := v.Interface().(type) {
	case Envelope:
		if len(x) == 0 {
			return nil
		}
		return plainEnvelope(x)
	case []byte:
		return hex.EncodeToString(x)
	}
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		return plain(v.Elem())
	case reflect.Struct:
		m := map[string]any{}
		for i := range v.NumField() {
			m[v.Type().Field(i).Name] = plain(v.Field(i))
		}
		return m
	case reflect.Slice:
		s := make([]any, v.Len())
		for i := range s {
			s[i] = plain(v.Index(i))
		}
		return s
	case reflect.Uint64:
		return strconv.FormatUint(v.Uint(), 10)
	case reflect.Int64:
		return strconv.FormatInt(v.Int(), 10)
	case reflect.Float64:
		return strconv.FormatFloat(v.Float(), 'g', -1, 64)
	case reflect.String:
		return v.String()
	case reflect.Bool:
		return v.Bool()
	case reflect.Int:
		return float64(v.Int())
	}
	return float64(v.Uint())
}

func plainEnvelope(e Envelope) any {
	fields, columns := []any{}, []any{}
	cells := e.cells()
	for i := range cells.count(1) {
		fields = append(fields, e.Field(i))
		cells.field(e.Key())
	}
	for i := range cells.count(1) {
		columns = append(columns, plain(reflect.ValueOf(e.Column(i))))
	}
	body := e.Body()
	m := map[string]any{"Key": string(e.Key()), "UID": e.UID(), "Fields": fields, "Columns": columns, "Codec": float64(body.Codec), "Body": hex.EncodeToString(body.Data)}
	if body.Codec == api.JSON {
		m["Body"] = string(body.Data)
	}
	return m
}
