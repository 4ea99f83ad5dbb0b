package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"github.com/watchglass/watchglass/host/internal/reload"
	"github.com/watchglass/watchglass/host/signin/oidc"
)

// oidcFlags configure --auth oidc. Their names and defaults are the same as in
// kube-apiserver.
type oidcFlags struct {
	oidc     oidc.Config
	required []string // required claims, as NAME=VALUE
	issuerCA string
	issuer   *oidc.Verifier // verifier of --auth oidc; nil otherwise
}

func (f *oidcFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.oidc.IssuerURL, "oidc-issuer-url", "", "https URL of the OpenID Connect issuer of the readers' ID tokens (--auth oidc)")
	flags.StringVar(&f.oidc.ClientID, "oidc-client-id", "", "client ID that must be in the audience of ID tokens (--auth oidc)")
	flags.StringVar(&f.oidc.UsernameClaim, "oidc-username-claim", oidc.DefaultUsernameClaim, "claim with the name of the user")
	flags.StringVar(&f.oidc.UsernamePrefix, "oidc-username-prefix", "", `prefix of the names of users; "-" adds none `+
		`(default the issuer URL and "#", and none for the claim email)`)
	flags.StringVar(&f.oidc.GroupsClaim, "oidc-groups-claim", "", "claim with the groups of the user, a text or a list; empty for no groups")
	flags.StringVar(&f.oidc.GroupsPrefix, "oidc-groups-prefix", "", "prefix of the names of groups")
	flags.StringSliceVar(&f.required, "oidc-required-claim", nil, "claim that ID tokens must have, as NAME=VALUE (repeatable)")
	flags.StringVar(&f.issuerCA, "oidc-ca-file", "", "file with the authorities of the issuer's certificate (default: the authorities of the system)")
	flags.StringSliceVar(&f.oidc.SigningAlgorithms, "oidc-signing-algs", []string{oidc.DefaultSigningAlgorithm},
		"accepted algorithm of signatures: "+strings.Join(oidc.Algorithms(), ", ")+" (repeatable)")
}

// check returns an error if a flag conflicts with the value of --auth, or a required flag
// is missing.
func (f *oidcFlags) check(auth string) error {
	switch {
	case auth != authOIDC && f.oidc.IssuerURL != "":
		return fmt.Errorf("--oidc-issuer-url requires --auth %s, and --auth is %s", authOIDC, auth)
	case auth != authOIDC:
		return nil
	case f.oidc.IssuerURL == "":
		return errors.New("--auth oidc requires --oidc-issuer-url, such as https://issuer.example.com")
	case f.oidc.ClientID == "":
		return errors.New("--auth oidc requires --oidc-client-id, the audience of the tokens")
	}
	return nil
}

// open creates the verifier of ID tokens, and loads the authorities of --oidc-ca-file.
func (f *oidcFlags) open(log *slog.Logger, files *reload.Watcher) error {
	f.oidc.Logger, f.oidc.RequiredClaims = log, map[string]string{}
	for _, text := range f.required {
		name, value, ok := strings.Cut(text, "=")
		if _, twice := f.oidc.RequiredClaims[name]; twice || !ok || name == "" {
			return fmt.Errorf("--oidc-required-claim %q: expected NAME=VALUE, each name once", text)
		}
		f.oidc.RequiredClaims[name] = value
	}
	verifier, err := oidc.New(f.oidc)
	if err != nil {
		return fmt.Errorf("--auth oidc: %w", err)
	}
	f.issuer = verifier
	if f.issuerCA == "" {
		return nil
	}
	return files.Add(reload.Group{
		Name:  "--oidc-ca-file",
		Files: func() []string { return []string{f.issuerCA} },
		Load: func() error {
			pem, err := os.ReadFile(f.issuerCA)
			if err == nil {
				err = verifier.SetAuthorities(pem)
			}
			if err != nil {
				return fmt.Errorf("--oidc-ca-file: %w", err)
			}
			return nil
		},
	})
}

// contact loads the keys of the issuer in the background, with retries, until the caller
// calls stop.
func (f *oidcFlags) contact() (stop func()) {
	if f.issuer == nil {
		return func() {}
	}
	return background(func(ctx context.Context) { f.issuer.Run(ctx) })
}
