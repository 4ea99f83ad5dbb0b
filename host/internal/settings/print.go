package settings

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/pflag"

	"github.com/watchglass/watchglass/host/internal/redact"
)

// urls is the name of the annotation that marks flags whose values are URLs or addresses.
const urls = "watchglass_urls"

// MarkURLs makes [Text] redact the credentials before the last @ in the values of a
// flag. Text redacts values of other flags only if they contain "://", because the names
// of contexts and files may contain an @.
func MarkURLs(flags *pflag.FlagSet, name string) {
	flags.Lookup(name).Annotations = map[string][]string{urls: nil}
}

// PrintRequested reports whether the command line contains --print-config.
func (l *Loader) PrintRequested() bool { return l.print }

// Print writes every setting with its origin, in the format of the settings file.
// Defaults are written as comments, so that the output is a settings file with the
// same effect. Secrets are redacted.
func (l *Loader) Print(w io.Writer) error {
	var out bytes.Buffer
	l.Each(func(f *pflag.Flag, origin string) {
		value := Text(f)
		if origin == "" {
			out.WriteString("# ")
			if computed(f) {
				value = f.DefValue
			}
		}
		fmt.Fprintf(&out, "%s: %s # %s\n", f.Name, value, cmp.Or(origin, "default"))
	})
	_, err := out.WriteTo(w)
	return err
}

// Each calls yield for every setting, sorted by name. The origin is empty if the setting
// has its default.
func (l *Loader) Each(yield func(f *pflag.Flag, origin string)) {
	l.settings(func(f *pflag.Flag) { yield(f, l.origins[f.Name]) })
}

// Text returns the value of a flag as YAML in one line, without passwords in URLs.
func Text(f *pflag.Flag) string {
	if many, ok := f.Value.(pflag.SliceValue); ok {
		values := append([]string{}, many.GetSlice()...)
		for i := range values {
			values[i] = conceal(f, values[i])
		}
		return quote(values)
	}
	value := f.Value.String()
	if f.Value.Type() == "string" {
		return quote(conceal(f, value))
	}
	return value
}

// computed reports whether the default of a flag is a description of how the command computes
// the value at startup.
func computed(f *pflag.Flag) bool { return strings.Contains(f.DefValue, " ") }

func conceal(f *pflag.Flag, value string) string {
	if _, ok := f.Annotations[urls]; ok || strings.Contains(value, "://") {
		return redact.URL(value)
	}
	return value
}

// quote returns a value as JSON. JSON is also valid YAML, and can represent every string
// and list.
func quote(value any) string {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil { // impossible for strings
		return `""`
	}
	return strings.TrimSuffix(out.String(), "\n")
}
