// Command release builds what a version of watchglass consists of.
//
// A release is made from a commit that is checked out without changes:
//
//	release -version v0.2.0 -out build/release
//
// It clones the commit, builds the wasm module, the npm package and the page in the
// clone, and adds the module and the page to a commit of their own, because go install
// and go get take only what git holds. That commit gets the tag; no branch contains it.
// The archives, the npm tarball, the image and the SBOMs are built from the tag, and
// the tag is copied into the repository last, so a release that fails leaves none.
//
// The same commit and the same tools give the same tag and the same bytes: times are
// those of the commit, and paths are left out.
//
//	release -image -version dev -out build/image
//
// builds the container image alone, from the working tree.
package main
