package kube

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Access selects a cluster and the credentials, like kubectl's flags.
type Access struct {
	// Kubeconfig is the path of a kubeconfig file. Empty means $KUBECONFIG,
	// then ~/.kube/config.
	Kubeconfig string
	// Context is the name of a context in the kubeconfig. Empty means the current context
	// of the kubeconfig.
	Context string
	// InCluster selects the service account of the current pod, instead of a kubeconfig.
	InCluster bool
}

// Load returns a client-go configuration with the address, the credentials and the proxy
// of a cluster. Credentials are certificates, tokens or exec plugins.
func Load(a Access) (*rest.Config, error) {
	if a.InCluster {
		config, err := rest.InClusterConfig()
		if errors.Is(err, rest.ErrNotInCluster) {
			return nil, errors.New("not running in a pod: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set; use a kubeconfig")
		}
		if err != nil {
			return nil, fmt.Errorf("the service account of this pod: %w", err)
		}
		return tuned(config), nil
	}
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = a.Kubeconfig
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: a.Context})
	config, err := loader.ClientConfig()
	if err != nil {
		return nil, explainLoading(a, rules, err)
	}
	return tuned(config), nil
}

func explainLoading(a Access, rules *clientcmd.ClientConfigLoadingRules, err error) error {
	from := a.Kubeconfig
	if from == "" {
		from = strings.Join(rules.Precedence, " or ")
	}
	broken := malformed(rules)
	switch {
	case a.Kubeconfig == "" && !slices.ContainsFunc(rules.Precedence, exists):
		return fmt.Errorf("no kubeconfig exists at %s: specify another", from)
	case broken != nil:
		return broken
	case a.Context != "":
		return fmt.Errorf("kubeconfig %s, context %q: %w", from, a.Context, err)
	case clientcmd.IsEmptyConfig(err):
		return fmt.Errorf("no cluster is configured in %s: name a kubeconfig, or a context with a cluster", from)
	}
	return fmt.Errorf("kubeconfig %s: %w", from, err)
}

// malformed returns an error about the first file that is readable but not a kubeconfig,
// or nil.
func malformed(rules *clientcmd.ClientConfigLoadingRules) error {
	paths := rules.Precedence
	if rules.ExplicitPath != "" {
		paths = []string{rules.ExplicitPath}
	}
	for _, path := range paths {
		_, err := clientcmd.LoadFromFile(path)
		var unread *fs.PathError
		if err == nil || errors.As(err, &unread) {
			continue
		}
		where := ""
		if _, syntax, found := strings.Cut(err.Error(), "yaml: "); found {
			where = " (" + syntax + ")"
		}
		return fmt.Errorf("%s is not a kubeconfig%s: expected YAML or JSON with apiVersion v1 and kind Config, such as kubectl config view --raw prints", path, where)
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// tuned sets the user agent and disables client-go's rate limit. The connector needs no
// limit, because it runs one stream per resource and backs off by itself.
func tuned(config *rest.Config) *rest.Config {
	config.UserAgent = "watchglass"
	config.QPS = -1
	return config
}
