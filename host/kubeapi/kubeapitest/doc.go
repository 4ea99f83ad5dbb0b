// Package kubeapitest checks that an implementation of kubeapi.Backend fulfills the
// contract, and that an API discloses no forbidden data.
package kubeapitest
