// Package kubeapitest tests the contract of kubeapi.Backend, and that an API discloses no
// data that its client may not read.
package kubeapitest
