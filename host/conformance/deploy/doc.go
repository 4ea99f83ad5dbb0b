// Package deploy applies the manifests of examples/deploy, and those that the chart
// renders, to a kube-apiserver. The server enforces the restricted Pod Security Standard,
// and watchglass runs with exactly the rights that the manifests grant. Other tests
// install, upgrade, roll back and uninstall the chart with Helm. The cluster has no
// controllers and no kubelet, so the server admits pods, but none runs.
package deploy
