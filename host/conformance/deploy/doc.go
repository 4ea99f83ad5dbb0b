// Package deploy applies the manifests of examples/deploy, and those that the chart
// renders, to a kube-apiserver that enforces the restricted Pod Security Standard, and
// runs watchglass with exactly the rights that they grant.
package deploy
