package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/watchglass/watchglass/host/access/token"
)

// defaultCluster is the name of the cluster at an edge that serves only one cluster.
const defaultCluster = "default"

type tokenFlags struct {
	keyFile    string
	cluster    string
	resources  []string
	namespaces []string
	feed       bool
	user       string
	ttl        time.Duration
}

func newTokenCommand() *cobra.Command {
	var f tokenFlags
	cmd := &cobra.Command{
		Use:   "token --key-file FILE --resources RESOURCE,...",
		Short: "Mint a token for the edge",
		Long: `Token prints a token with which its holder can read from the edge, or with --feed
send data to the edge, until the token expires. It grants access only to the given
resources and namespaces. It cannot be revoked, so choose a short --ttl.

The edge reads the same key from its secret WATCHGLASS_KEY. A key is at least 32
bytes of text. A file may contain several keys, and the first one signs.`,
		Example: `  # Create a key for this command and for the edge
  openssl rand -base64 48 > edge.key

  # Read pods and deployments in two namespaces, for an hour
  watchglass token --key-file edge.key --resources pods,deployments.apps --namespaces shop,web

  # For a connector: watchglass push --token-file feed.token wss://edge.example.com/feed
  watchglass token --key-file edge.key --feed --ttl 720h --resources '*' > feed.token`,
		Args: arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if flags := cmd.Flags(); !flags.Changed("key-file") || !flags.Changed("resources") {
				return misused(cmd, "--key-file and --resources are required, such as --key-file edge.key --resources pods")
			}
			return mint(&f, time.Now(), cmd.OutOrStdout())
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.keyFile, "key-file", "", "file with the key to sign with")
	flags.StringVar(&f.cluster, "cluster", defaultCluster, "name of the cluster at the edge")
	flags.StringSliceVar(&f.resources, "resources", nil, `resources to grant access to, such as pods,deployments.apps or apps/v1/deployments; "*" for all`)
	flags.StringSliceVar(&f.namespaces, "namespaces", []string{token.Any}, `namespaces to grant access to; "*" for all, which is required for resources without namespaces`)
	flags.BoolVar(&f.feed, "feed", false, "grant sending these resources to the edge (watchglass push), instead of reading them")
	flags.StringVar(&f.user, "user", "", "name of the holder, for the edge's log")
	flags.DurationVar(&f.ttl, "ttl", time.Hour, "time until the token expires, in whole seconds")
	return cmd
}

func mint(f *tokenFlags, now time.Time, stdout io.Writer) error {
	text, err := os.ReadFile(f.keyFile)
	if err != nil {
		return fmt.Errorf("--key-file: %w", err)
	}
	keys, err := token.ParseKeys(string(text))
	if err != nil {
		return fmt.Errorf("--key-file %s: %w", f.keyFile, err)
	}
	if f.ttl < time.Second {
		return fmt.Errorf("--ttl %s: expected at least a second", f.ttl)
	}
	if strings.ContainsAny(f.cluster, "/ \t\r\n") {
		return fmt.Errorf("--cluster %q: expected a name as in /clusters/NAME/watch, without slashes and spaces", f.cluster)
	}
	for _, namespace := range f.namespaces {
		if namespace != token.Any && len(validation.IsDNS1123Label(namespace)) > 0 {
			return fmt.Errorf("--namespaces: %q is not the name of a namespace: expected lowercase letters, digits and -, or * for all", namespace)
		}
	}
	claims := token.Claims{User: f.user, Cluster: f.cluster, Namespaces: f.namespaces, Feed: f.feed, Expires: now.Add(f.ttl)}
	for _, name := range f.resources {
		if name != token.Any {
			resource, err := resolve(name)
			if err != nil {
				return fmt.Errorf("--resources: %w", err)
			}
			name = resource.String()
		}
		claims.Resources = append(claims.Resources, name)
	}
	signed, err := keys.Sign(claims, now)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(stdout, signed)
	return err
}
