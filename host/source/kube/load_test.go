package kube_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/host/source/kube"
)

// The error for a file that is not a kubeconfig describes the expected content, instead
// of repeating the decoder's error.
func TestFileThatIsNotKubeconfig(t *testing.T) {
	const expected = ": expected YAML or JSON with apiVersion v1 and kind Config, such as kubectl config view --raw prints"
	for name, c := range map[string]struct{ content, where string }{
		"a text":         {"hello", ""},
		"another object": {"apiVersion: v1\nkind: Pod\nmetadata: {name: x}\n", ""},
		"half of JSON":   {`{"a": `, " (line 1: did not find expected node content)"},
		"invalid UTF-8":  {"\xff\xfe\x00", " (incomplete UTF-16 character)"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "config")
			require.NoError(t, os.WriteFile(path, []byte(c.content), 0o600))
			want := path + " is not a kubeconfig" + c.where + expected
			_, err := kube.Load(kube.Access{Kubeconfig: path})
			assert.EqualError(t, err, want)
			_, err = kube.Load(kube.Access{Kubeconfig: path, Context: "dev"})
			assert.EqualError(t, err, want)
			t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none")+string(filepath.ListSeparator)+path)
			_, err = kube.Load(kube.Access{})
			assert.EqualError(t, err, want)
		})
	}
	folder := t.TempDir()
	_, err := kube.Load(kube.Access{Kubeconfig: folder})
	assert.ErrorContains(t, err, "is a directory")
}
