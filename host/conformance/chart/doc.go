// Package chart tests the Helm chart: golden files of what it renders, and values that
// its schema refuses. The package deploy applies the golden files to a kube-apiserver.
package chart
