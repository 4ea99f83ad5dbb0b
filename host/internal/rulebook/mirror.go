package rulebook

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// The TypeScript build does not support overlays, so mutants of the edge's TypeScript run
// in mirrors. A mirror is a directory that contains copies of the sources of the bundles,
// and links to all other files of the repository. The runner builds the bundles and runs
// the tests in the mirror.
const (
	scriptDir = "js/src"
	workerDir = "examples/edge"
)

// bundles are the commands that build the edge's bundles, with the directories in which
// they run.
var bundles = []struct {
	dir     string
	command []string
}{
	{"js", []string{"node", "build.mjs", "--edge"}},
	{workerDir, []string{"node", "build.mjs"}},
}

// isScript reports whether a file is part of the TypeScript that mutants change in a
// mirror.
func isScript(file string) bool { return strings.HasPrefix(file, scriptDir+"/") }

// hasScripts reports whether the mutant changes TypeScript.
func (m *Mutant) hasScripts() bool {
	return slices.ContainsFunc(m.hunks, func(h hunk) bool { return isScript(h.file) })
}

// mirror creates a mirror of the repository in which the mutant is applied to the
// TypeScript and the bundles are built. It returns the root of the mirror, in which the
// tests of the mutant can run.
func (r *Runner) mirror(ctx context.Context, m *Mutant) (root string, err error) {
	files, err := m.Apply(r.Root)
	if err != nil {
		return "", err
	}
	real, err := filepath.Abs(r.Root)
	if err != nil {
		return "", err
	}
	root = filepath.Join(r.Temp, m.Name, "mirror")
	copied := []string{scriptDir, workerDir + "/build.mjs", workerDir + "/src", workerDir + "/local"}
	own := append([]string{"js/dist", workerDir + "/dist"}, copied...)
	for _, t := range m.Tests {
		own = append(own, t.Package+"/.") // makes link create a real directory with links to the package's files
	}
	if err := link(real, root, ".", own); err != nil {
		return "", err
	}
	for _, name := range copied {
		if err := copyAll(filepath.Join(real, filepath.FromSlash(name)), filepath.Join(root, filepath.FromSlash(name))); err != nil {
			return "", err
		}
	}
	for name, text := range files {
		if !isScript(name) {
			continue
		}
		if err := os.WriteFile(filepath.Join(root, filepath.FromSlash(name)), []byte(text), 0o600); err != nil {
			return "", err
		}
	}
	return root, bundle(ctx, root)
}

// link fills a directory of the mirror with links to the real files. It omits the names
// in the list "own", and creates real directories for the parents of these names.
func link(real, root, dir string, own []string) error {
	entries, err := os.ReadDir(filepath.Join(real, filepath.FromSlash(dir)))
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(root, filepath.FromSlash(dir)), 0o755); err != nil {
		return err
	}
	for _, entry := range entries {
		name := path.Join(dir, entry.Name())
		switch {
		case slices.Contains(own, name):
			continue
		case slices.ContainsFunc(own, func(o string) bool { return strings.HasPrefix(o, name+"/") }):
			err = link(real, root, name, own)
		default:
			err = os.Symlink(filepath.Join(real, filepath.FromSlash(name)), filepath.Join(root, filepath.FromSlash(name)))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// copyAll copies a file or a directory.
func copyAll(from, to string) error {
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	if info.IsDir() {
		return os.CopyFS(to, os.DirFS(from))
	}
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, text, 0o600)
}

func bundle(ctx context.Context, root string) error {
	for _, b := range bundles {
		cmd := exec.CommandContext(ctx, b.command[0], b.command[1:]...)
		cmd.Dir = filepath.Join(root, filepath.FromSlash(b.dir))
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%w: %s in %s: %w\n%s", ErrBuild, strings.Join(b.command, " "), b.dir, err, out)
		}
	}
	return nil
}
