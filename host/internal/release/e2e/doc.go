// Package e2e builds a release of the current commit in a copy of the repository.
// It installs each part as a user would, without a network.
package e2e
