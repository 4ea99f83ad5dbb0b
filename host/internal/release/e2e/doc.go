// Package e2e builds a release of the current commit in a copy of the repository.
// It installs each part of the release as a user would, without network access.
package e2e
