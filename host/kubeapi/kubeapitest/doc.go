// Package kubeapitest holds backends of host/kubeapi to their contract.
package kubeapitest
