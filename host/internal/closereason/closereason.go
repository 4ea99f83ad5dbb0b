// Package closereason makes words fit the close frame of a WebSocket.
package closereason

import "strings"

// most is what fits, in bytes (RFC 6455, section 5.5).
const most = 123

// Clip is a reason as it may be sent: short, and of whole characters alone,
// whatever it quotes.
func Clip(reason string) string {
	return strings.ToValidUTF8(reason[:min(len(reason), most)], "")
}
