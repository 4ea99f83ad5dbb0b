// Package deploy applies the manifests of examples/deploy, and those that the chart
// renders, to a kube-apiserver. The server enforces the restricted Pod Security
// Standard, and watchglass runs with exactly the rights that the manifests grant. Helm
// installs, upgrades, rolls back and uninstalls the chart in the same way. There are
// no controllers and no kubelet, so pods are admitted but do not run.
package deploy
