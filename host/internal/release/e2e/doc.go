// Package e2e builds a release of the current commit in a copy of the repository,
// and installs each part of it as a user would, without a network.
package e2e
