// Package chart tests the Helm chart. It compares the rendered output with golden
// files, and checks that the schema rejects certain values. Package deploy applies
// the golden files to a kube-apiserver.
package chart
