// Command release builds all parts of a version of watchglass.
//
// A release is built from a checked-out commit without changes:
//
//	release -version v0.2.0 -out build/release
//
// The command clones the commit, and builds the wasm module, the npm package and the page
// in the clone. It adds the module and the page in a new commit, because go install and
// go get use only files in git. It tags the new commit, which is on no branch. The
// archives, the npm tarball, the image and the SBOMs are built from the tag. The command
// copies the tag to the repository last, so that a failed release leaves no tag.
//
// Releases are reproducible: the same commit and tools produce the same tag and the same
// bytes. All times are the commit time, and paths of the build machine are omitted.
//
// If the encoding of a frame between readers and connectors has changed since the last
// release, the command requires a new version of the protocol.
//
//	release -image -version dev -out build/image
//
// builds only the container image, from the working tree.
package main
