package main

import (
	"fmt"
	"os"

	"github.com/spf13/pflag"

	"github.com/watchglass/watchglass/host/access"
	"github.com/watchglass/watchglass/host/internal/reload"
	"github.com/watchglass/watchglass/host/signin"
)

// proxyFlags configure --auth proxy. Their names and defaults are the same as in
// kube-apiserver.
type proxyFlags struct {
	clientCA string
	proxy    signin.ProxyConfig
}

func (f *proxyFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.clientCA, "requestheader-client-ca-file", "", "file with the authorities of the client certificate of the authenticating proxy (--auth proxy)")
	flags.StringSliceVar(&f.proxy.AllowedNames, "requestheader-allowed-names", nil,
		"common name of a client certificate that may name users; without it, every certificate of the authorities may (repeatable)")
	flags.StringSliceVar(&f.proxy.UsernameHeaders, "requestheader-username-headers", []string{"X-Remote-User"}, "header with the name of the user (repeatable); requests with different names are refused")
	flags.StringSliceVar(&f.proxy.UIDHeaders, "requestheader-uid-headers", []string{"X-Remote-Uid"}, "header with the UID of the user (repeatable); requests with different UIDs are refused")
	flags.StringSliceVar(&f.proxy.GroupHeaders, "requestheader-group-headers", []string{"X-Remote-Group"}, "header with a group of the user (repeatable)")
	flags.StringSliceVar(&f.proxy.ExtraHeaderPrefixes, "requestheader-extra-headers-prefix", []string{"X-Remote-Extra-"}, "prefix of headers with extra attributes of the user (repeatable)")
}

// proxyPolicy returns the policy for users that the proxy authenticates. The authorizer
// decides what they may read.
func (f *proxyFlags) proxyPolicy(authorizer access.Policy, files *reload.Watcher) (access.Policy, error) {
	policy := signin.NewProxy(f.proxy, authorizer)
	return policy, files.Add(reload.Group{
		Name:  "--requestheader-client-ca-file",
		Files: func() []string { return []string{f.clientCA} },
		Load: func() error {
			pem, err := os.ReadFile(f.clientCA)
			if err == nil {
				err = policy.SetAuthorities(pem)
			}
			if err != nil {
				return fmt.Errorf("--requestheader-client-ca-file: %w", err)
			}
			return nil
		},
	})
}
