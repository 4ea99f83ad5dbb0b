package audit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
)

// Event is one line of the audit log.
type Event struct {
	Time time.Time `json:"time"`
	// User and Groups are empty if no token was accepted.
	User   string   `json:"user,omitempty"`
	Groups []string `json:"groups,omitempty"`
	// Impersonator is the user who acts as User. It may be empty.
	Impersonator string `json:"impersonator,omitempty"`
	// Address is the client's address, if it is known.
	Address string `json:"address,omitempty"`
	// RequestID identifies the request or connection, as in the log and in the header
	// X-Request-Id of the response.
	RequestID string `json:"requestId,omitempty"`
	// Verb is get, list or watch; "list,watch" for a subscription of a reader; or
	// "authenticate" for a refused token.
	Verb      string `json:"verb"`
	Resource  string `json:"resource,omitempty"` // "apps/v1/deployments"
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	Decision  string `json:"decision"` // allowed or denied
	Reason    string `json:"reason,omitempty"`
	// Review marks the withdrawal of an earlier grant.
	Review bool `json:"review,omitempty"`
	// Suppressed is the number of refused tokens that have no line since the last line
	// about a refused token.
	Suppressed uint64 `json:"suppressed,omitempty"`
}

const (
	maxText   = 256
	maxReason = 512
	maxGroups = 32
)

// bound limits the length of texts that clients choose, and the number of groups.
func (e *Event) bound() {
	for _, text := range []*string{&e.User, &e.Impersonator, &e.Resource, &e.Namespace, &e.Name} {
		*text = clip(*text, maxText)
	}
	e.Reason = clip(e.Reason, maxReason)
	groups := make([]string, min(len(e.Groups), maxGroups))
	for i := range groups {
		groups[i] = clip(e.Groups[i], maxText)
	}
	e.Groups = groups
}

// clip truncates a text to about n bytes at a character boundary.
func clip(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n], "") + "…"
}

// Log writes events to a file or a stream. It is safe for concurrent use.
type Log struct {
	path string // empty for a stream

	mu   sync.Mutex
	out  io.Writer
	file *os.File // the same as out, if the log is a file
}

// Open opens a file for appending. A created file is readable and writable only by its
// owner.
func Open(path string) (*Log, error) {
	l := &Log{path: path}
	return l, l.Reopen()
}

// To returns a Log that writes to a stream, which the caller closes.
func To(w io.Writer) *Log { return &Log{out: w} }

// Reopen reopens the file after a rename. If that fails, events go to the renamed file.
func (l *Log) Reopen() error {
	if l.path == "" {
		return nil
	}
	file, err := os.OpenFile(l.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("audit log: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	old := l.file
	l.out, l.file = file, file
	if old == nil {
		return nil
	}
	return old.Close()
}

// Close closes the file.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return nil
	}
	return l.file.Close()
}

// write appends an event with a single write.
func (l *Log) write(e *Event) error {
	e.bound()
	var line bytes.Buffer
	encoder := json.NewEncoder(&line)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(e); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	_, err := l.out.Write(line.Bytes())
	return err
}
