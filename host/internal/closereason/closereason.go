// Package closereason truncates reasons to fit the close frame of a WebSocket.
package closereason

import "strings"

// most is the maximum length of a reason in bytes (RFC 6455, section 5.5).
const most = 123

// Clip returns the reason, truncated to the maximum length and without invalid UTF-8.
func Clip(reason string) string {
	return strings.ToValidUTF8(reason[:min(len(reason), most)], "")
}
