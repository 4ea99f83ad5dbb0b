// Package e2e tests the whole product from outside, with the built binary, a real etcd and
// a real Chromium. Its tests need build/watchglass and a Chromium, and fail if either is
// missing.
package e2e
