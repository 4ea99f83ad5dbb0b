package api

import "strconv"

// ResourceVersion orders the changes of one resource. It is an unsigned 64-bit
// integer inside and a decimal string outside (rule R12). Versions of different
// resources must not be compared. Zero means "not given".
type ResourceVersion uint64

// ParseResourceVersion reads the decimal form. The empty string and "0" are
// zero; a sign, a leading zero, a blank or anything beyond 64 bits is a
// 400 BadRequest (rule C48).
func ParseResourceVersion(text string) (ResourceVersion, error) {
	if text == "" || text == "0" {
		return 0, nil
	}
	rv, ok := ParseUint(text)
	if !ok || text[0] == '0' {
		return 0, BadRequest("invalid resource version " + Quote(text) +
			": expected a decimal number without sign or leading zeros that fits 64 bits")
	}
	return ResourceVersion(rv), nil
}

// String is the decimal form.
func (rv ResourceVersion) String() string { return strconv.FormatUint(uint64(rv), 10) }
