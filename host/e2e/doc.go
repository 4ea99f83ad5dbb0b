// Package e2e tests the whole product from outside, with the built binary, a real etcd and
// a real Chromium. Its tests need build/watchglass and a Chromium, and fail without them.
package e2e
