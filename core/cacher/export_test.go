package cacher

import "github.com/watchglass/watchglass/core/api"

// FormatContinue makes a token; rv zero stands for the latest state.
func FormatContinue(rv api.ResourceVersion, start string) string { return formatContinue(rv, start) }

// ParseContinue takes a token apart.
func ParseContinue(text string) (rv api.ResourceVersion, start string, status *api.Status) {
	token, status := parseContinue(text)
	return token.rv, token.start, status
}

// EncodeBase64 and DecodeBase64 are the package's own.
func EncodeBase64(s string) string         { return encodeBase64(s) }
func DecodeBase64(s string) (string, bool) { return decodeBase64(s) }

// Budget is the budget of the dispatcher.
type Budget = budget

// Take takes all there is.
func (b *Budget) Take(now int64) int64 { return b.take(now) }

// GiveBack returns what was not used.
func (b *Budget) GiveBack(millis int64) { b.giveBack(millis) }

// Watches is how many watches are registered.
func (c *Cacher) Watches() int { return len(c.watches) }

// Waiting is how many reads wait for a version.
func (c *Cacher) Waiting() int { return len(c.waits) }

// MaxPatches is how many changes are remembered as patches.
const MaxPatches = maxPatches

// PatchBytes is what the patches that are remembered take.
func (c *Cacher) PatchBytes() (bytes int) {
	for i := range c.encoded.patches {
		bytes += cap(c.encoded.patches[i].of)
	}
	return bytes
}

// Dictionaries is how many dictionaries are kept.
func (c *Cacher) Dictionaries() int { return len(c.dictionaries.known) }
