// Package kubeapitest checks that backends of host/kubeapi fulfil their contract.
package kubeapitest
