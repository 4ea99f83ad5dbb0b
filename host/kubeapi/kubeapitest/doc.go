// Package kubeapitest checks that an implementation of kubeapi.Backend fulfills the
// contract of Backend, and that an API does not disclose data that its client may not read.
package kubeapitest
