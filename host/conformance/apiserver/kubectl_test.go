package apiserver

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// kubectl returns the sorted keys of the ConfigMaps that kubectl prints for the user of a
// token. An empty namespace means all namespaces. The result is nil if the user may not
// list ConfigMaps there.
func kubectl(t *testing.T, token, namespace string) []string {
	t.Helper()
	user := strings.TrimSuffix(token, "-token")
	args := []string{"--kubeconfig", shared.kubeconfig(t, admin), "--as", user, "get", "configmaps",
		"-o", `jsonpath={range .items[*]}{.metadata.namespace}/{.metadata.name}{"\n"}{end}`}
	if namespace == "" {
		args = append(args, "--all-namespaces")
	} else {
		args = append(args, "--namespace", namespace)
	}
	out, err := exec.Command("../kubernetes/bin/kubectl-v1.36.3", args...).CombinedOutput()
	if err != nil {
		require.Contains(t, string(out), "Forbidden")
		return nil
	}
	names := strings.Fields(string(out))
	slices.Sort(names)
	return names
}
