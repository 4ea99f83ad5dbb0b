package reload

import (
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"
)

const (
	// Interval is the time between two checks of the files.
	Interval = 5 * time.Second
	// Again is the delay before the retry of a failed load.
	Again = time.Second
)

// Group is a set of files that are loaded together.
type Group struct {
	// Name identifies the group in logs and metrics, for example "--tls-cert-file".
	Name string
	// Files returns the paths of the files. The result may change after a load.
	Files func() []string
	// Load reads the files and applies their content. If it returns an error, the previous
	// content must stay in use.
	Load func() error
}

// Watcher reloads groups of files when they change. All groups must be added before Run
// is called. Stats is safe for concurrent use.
type Watcher struct {
	log    *slog.Logger
	groups []*watched

	mu sync.Mutex // guards loads and failures of the groups
}

// watched is a Group and its state.
type watched struct {
	Group
	content  [sha256.Size]byte
	due      bool // a load of the current content is due
	attempts int  // number of failed loads since the load became due

	loads, failures uint64
}

// NewWatcher returns a Watcher without groups.
func NewWatcher(log *slog.Logger) *Watcher { return &Watcher{log: log} }

// Add loads a group for the first time. If that load fails, Add returns its error;
// otherwise it adds the group to the groups that Run watches.
func (w *Watcher) Add(g Group) error {
	content := digest(g.Files()) // before Load, so that no change is missed
	if err := g.Load(); err != nil {
		return err
	}
	w.groups = append(w.groups, &watched{Group: g, content: content})
	return nil
}

// Run watches the files until ctx is done. When it receives a value from the channel now, it
// loads every group immediately, even if no file has changed.
func (w *Watcher) Run(ctx context.Context, now <-chan struct{}) {
	timer := time.NewTimer(Interval)
	defer timer.Stop()
	for {
		asked := false
		select {
		case <-ctx.Done():
			return
		case <-now:
			asked = true
		case <-timer.C:
		}
		next := Interval
		for _, g := range w.groups {
			if w.check(g, asked) {
				next = Again
			}
		}
		timer.Reset(next)
	}
}

// check loads a group if a load is due. It reports whether the load failed and must be
// retried after the delay Again.
func (w *Watcher) check(g *watched, asked bool) (again bool) {
	content := digest(g.Files())
	if asked || content != g.content && !g.due {
		g.due, g.attempts = true, 0
	}
	g.content = content
	if !g.due {
		return false
	}
	err := g.Load()
	switch {
	case err == nil:
		g.due = false
		w.count(&g.loads)
		w.log.Info("loaded again", "files", g.Name)
		return false
	case g.attempts == 0:
		g.attempts++
		return true
	}
	g.due = false
	w.count(&g.failures)
	w.log.Error("the changed files cannot be loaded; the previous content stays in use until they are repaired",
		"files", g.Name, "error", err)
	return false
}

func (w *Watcher) count(n *uint64) {
	w.mu.Lock()
	*n++
	w.mu.Unlock()
}

// Stats contains the numbers of loads and failures of one group.
type Stats struct {
	Files           string // the group's name, without leading dashes
	Loads, Failures uint64 // without the first load
}

// Stats returns the Stats of all groups.
func (w *Watcher) Stats() []Stats {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := make([]Stats, len(w.groups))
	for i, g := range w.groups {
		all[i] = Stats{strings.TrimPrefix(g.Name, "--"), g.loads, g.failures}
	}
	return all
}

// digest returns a hash of the paths and contents of files. For an unreadable file it
// hashes the error instead of the content.
func digest(paths []string) (sum [sha256.Size]byte) {
	hash := sha256.New()
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			content = []byte(err.Error())
		}
		fmt.Fprintf(hash, "%d %s %d ", len(path), path, len(content))
		hash.Write(content)
	}
	hash.Sum(sum[:0])
	return sum
}
