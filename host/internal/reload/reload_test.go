package reload

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"context"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// pair is a Watcher with a Group of two files. A load succeeds only if both files have the
// same content.
type pair struct {
	t      *testing.T
	dir    string
	inUse  string
	log    bytes.Buffer
	hangup chan struct{}
	*Watcher
}

// run runs a test with a new pair, in virtual time.
func run(t *testing.T, test func(*pair)) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		p := &pair{t: t, dir: dir, hangup: make(chan struct{})}
		p.Watcher = NewWatcher(slog.New(slog.NewTextHandler(&p.log, nil)))
		p.write("a", "1")
		p.write("b", "1")
		require.NoError(t, p.Add(Group{Name: "--pair", Files: p.files, Load: p.load}))
		ctx, cancel := context.WithCancel(t.Context())
		defer synctest.Wait()
		defer cancel()
		go p.Run(ctx, p.hangup)
		test(p)
	})
}

func (p *pair) path(name string) string { return filepath.Join(p.dir, name) }

func (p *pair) write(name, content string) {
	require.NoError(p.t, os.WriteFile(p.path(name), []byte(content), 0o600))
}

func (p *pair) files() []string { return []string{p.path("a"), p.path("b")} }

func (p *pair) load() error {
	a, err := os.ReadFile(p.path("a"))
	if err != nil {
		return err
	}
	b, err := os.ReadFile(p.path("b"))
	if err != nil {
		return err
	}
	if !bytes.Equal(a, b) {
		return errors.New("the files do not match")
	}
	p.inUse = string(a)
	return nil
}

// after waits for a duration of virtual time, and returns the content in use.
func (p *pair) after(d time.Duration) string {
	time.Sleep(d)
	synctest.Wait()
	return p.inUse
}

func TestChangedFilesAreLoadedWithinTheInterval(t *testing.T) {
	run(t, func(p *pair) {
		p.write("a", "2")
		p.write("b", "2")
		assert.Equal(t, "1", p.after(Interval-time.Millisecond))
		assert.Equal(t, "2", p.after(time.Millisecond))
		assert.Equal(t, 1, strings.Count(p.log.String(), "loaded again"))
		p.after(10 * Interval)
		assert.Equal(t, []Stats{{Files: "pair", Loads: 1}}, p.Stats())
		time.Sleep(time.Millisecond) // just after a check
		p.write("a", "3")
		p.write("b", "3")
		assert.Equal(t, "3", p.after(Interval), "also later")
	})
}

func TestRotationInTwoStepsIsNotAFailure(t *testing.T) {
	run(t, func(p *pair) {
		p.write("a", "2")
		assert.Equal(t, "1", p.after(Interval))
		p.write("b", "2")
		assert.Equal(t, "2", p.after(Again))
		assert.NotContains(t, p.log.String(), "cannot be loaded")
		assert.EqualValues(t, 0, p.Stats()[0].Failures)
	})
}

func TestInvalidPairKeepsThePreviousOne(t *testing.T) {
	run(t, func(p *pair) {
		p.write("a", "2")
		assert.Equal(t, "1", p.after(Interval))
		assert.Empty(t, p.log.String(), "not before it is read again")
		assert.Equal(t, "1", p.after(Again))
		assert.Contains(t, p.log.String(), "level=ERROR")
		assert.Contains(t, p.log.String(), "the files do not match")
		assert.EqualValues(t, 1, p.Stats()[0].Failures)

		assert.Equal(t, "1", p.after(10*Interval))
		assert.Equal(t, 1, strings.Count(p.log.String(), "level=ERROR"), "once for each change")
		require.NoError(t, os.Remove(p.path("b")))
		p.after(2 * Interval)
		assert.Equal(t, 2, strings.Count(p.log.String(), "level=ERROR"))
		p.write("b", "2")
		assert.Equal(t, "2", p.after(Interval))
	})
}

func TestHangupReloadsImmediately(t *testing.T) {
	run(t, func(p *pair) {
		p.write("a", "2")
		p.write("b", "2")
		p.hangup <- struct{}{}
		synctest.Wait()
		assert.Equal(t, "2", p.inUse)
		p.hangup <- struct{}{}
		synctest.Wait()
		assert.EqualValues(t, 2, p.Stats()[0].Loads, "also unchanged files")
	})
}

// The files of a mounted Secret are links that lead through a symbolic link to a directory.
// Kubernetes replaces the link to the directory on updates.
func TestFilesBehindALinkAreFollowed(t *testing.T) {
	run(t, func(p *pair) {
		for _, content := range []string{"1", "2"} {
			require.NoError(t, os.Mkdir(p.path(content), 0o700))
			p.write(content+"/a", content)
			p.write(content+"/b", content)
		}
		require.NoError(t, os.Symlink("1", p.path("data")))
		for _, name := range []string{"a", "b"} {
			require.NoError(t, os.Remove(p.path(name)))
			require.NoError(t, os.Symlink("data/"+name, p.path(name)))
		}
		p.after(Interval)
		assert.EqualValues(t, 0, p.Stats()[0].Loads, "the content is the same")
		require.NoError(t, os.Symlink("2", p.path("new")))
		require.NoError(t, os.Rename(p.path("new"), p.path("data")))
		assert.Equal(t, "2", p.after(Interval))
	})
}

func TestTheFirstLoadReportsItsError(t *testing.T) {
	w := NewWatcher(slog.New(slog.DiscardHandler))
	err := w.Add(Group{Name: "--pair", Files: func() []string { return nil }, Load: func() error { return errors.New("broken") }})
	assert.EqualError(t, err, "broken")
	assert.Empty(t, w.Stats())
}
