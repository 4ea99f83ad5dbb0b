package main

import (
	"fmt"
	"log/slog"
	"os"
	"strings"
)

const (
	// minTokenChars is the minimum length of a token. An attacker cannot guess 16 random
	// characters, as in the secret of a kubeadm token.
	minTokenChars = 16
	// minTokenKinds is the minimum number of different characters in a token.
	minTokenKinds = 6
)

// weakness returns why a token can be guessed, or "".
func weakness(token string) string {
	kinds := map[rune]bool{}
	for _, r := range token {
		kinds[r] = true
	}
	switch {
	case len(token) < minTokenChars:
		return fmt.Sprintf("the token is shorter than %d characters", minTokenChars)
	case len(kinds) < minTokenKinds:
		return fmt.Sprintf("the token has fewer than %d different characters", minTokenKinds)
	}
	return ""
}

const makeToken = "make one with: openssl rand -base64 32"

// warnReadable logs a warning if other users of this machine can read a file with a
// secret.
func warnReadable(log *slog.Logger, flag, path string) {
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm()&0o077 == 0 {
		return // the code that opens the file reports a missing file
	}
	log.Warn("other users of this machine can read a secret; chmod 600 the file, or mount it with mode 0400",
		"flag", flag, "file", path, "mode", fmt.Sprintf("%04o", info.Mode().Perm()))
}

// warn logs a warning for each way in which others may learn a token or the TLS key.
func (f *authFlags) warn(log *slog.Logger, l listeners) {
	if f.weakness != "" {
		log.Warn("the token can be guessed; "+makeToken, "flag", "--token-file", "reason", f.weakness)
	}
	if f.tokenFile != "" {
		warnReadable(log, "--token-file", f.tokenFile)
	}
	if f.tlsKey != "" {
		warnReadable(log, "--tls-private-key-file", f.tlsKey)
	}
	if public := l.public(); public != nil && !l.secure {
		log.Warn("tokens arrive over plain HTTP, so the network can read them; "+
			"give --tls-cert-file and --tls-private-key-file, unless a proxy on this machine or in this pod terminates TLS",
			"address", strings.Join(public, " "))
	}
}
