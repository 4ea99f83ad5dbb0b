package api

import (
	"strconv"

	"github.com/watchglass/watchglass/core/internal/lite"
)

// ResourceVersion orders the changes to one resource. It is an unsigned 64-bit integer in
// memory and a decimal string in text (rule R12). Versions of different resources are not
// comparable. Zero means unset.
type ResourceVersion uint64

// ParseResourceVersion parses the decimal form. It returns zero for the empty string and
// "0". It returns a 400 BadRequest for a sign, a leading zero, a space or a number beyond
// 64 bits (rule C48).
func ParseResourceVersion(text string) (ResourceVersion, error) {
	if text == "" || text == "0" {
		return 0, nil
	}
	rv, ok := lite.ParseUint(text)
	if !ok || text[0] == '0' {
		return 0, BadRequest("invalid resource version " + lite.Quote(text) +
			": expected a decimal number without sign or leading zeros that fits 64 bits")
	}
	return ResourceVersion(rv), nil
}

// String returns the decimal form.
//
//go:noinline
func (rv ResourceVersion) String() string { return strconv.FormatUint(uint64(rv), 10) }
