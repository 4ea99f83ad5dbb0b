// Package kubeapitest tests whether a backend fulfills the contract of kubeapi.Backend, and
// whether an API discloses data that its client may not read.
package kubeapitest
