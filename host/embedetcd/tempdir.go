package embedetcd

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"go.etcd.io/etcd/client/pkg/v3/fileutil"
)

// tempDir is a temporary directory. The process that creates the directory holds a lock on
// a file in it until the process removes the directory or ends. A killed process leaves its
// directory behind, and the next process that creates a tempDir removes the leftover.
type tempDir struct {
	path string
	lock *fileutil.LockedFile
}

const (
	tempPrefix = "embedetcd-"
	lockName   = "lock"
)

func newTempDir() (*tempDir, error) {
	removeLeftovers()
	path, err := os.MkdirTemp("", tempPrefix)
	if err != nil {
		return nil, err
	}
	d := &tempDir{path: path}
	// The file is renamed to lockName only after it is locked, because removeLeftovers
	// removes a directory if its file lockName is not locked.
	unnamed := filepath.Join(path, "unlocked")
	if d.lock, err = fileutil.TryLockFile(unnamed, os.O_CREATE|os.O_WRONLY, 0o600); err == nil {
		err = os.Rename(unnamed, filepath.Join(path, lockName))
	}
	if err != nil {
		return nil, errors.Join(err, d.remove())
	}
	return d, nil
}

// data returns the path of a subdirectory for etcd, whose data directory must not contain
// other files.
func (d *tempDir) data() string { return filepath.Join(d.path, "data") }

func (d *tempDir) remove() error {
	err := os.RemoveAll(d.path)
	if d.lock != nil {
		err = errors.Join(err, d.lock.Close())
	}
	return err
}

// removeLeftovers removes the directories of killed processes. It ignores errors, because
// a directory may belong to another user, or another process may remove it concurrently.
func removeLeftovers() {
	root := os.TempDir()
	locks, err := fs.Glob(os.DirFS(root), tempPrefix+"*/"+lockName)
	if err != nil {
		panic(err) // the pattern is a constant
	}
	for _, name := range locks {
		path := filepath.Join(root, name)
		lock, err := fileutil.TryLockFile(path, os.O_WRONLY, 0)
		if err != nil {
			continue // the process of this directory still runs
		}
		_ = (&tempDir{path: filepath.Dir(path), lock: lock}).remove()
	}
}
