package main

import (
	"github.com/spf13/pflag"

	"github.com/watchglass/watchglass/host/source/kube"
)

// kubeFlags select the kube-apiserver and the credentials.
type kubeFlags struct {
	kubeconfig string
	context    string
	inCluster  bool
}

func (f *kubeFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.kubeconfig, "kubeconfig", "", "kubeconfig file of the cluster to read (default with --context: $KUBECONFIG or ~/.kube/config)")
	flags.StringVar(&f.context, "context", "", "context of the kubeconfig (default: its current context)")
	flags.BoolVar(&f.inCluster, "in-cluster", false, "read the cluster that this pod runs in, with the pod's service account")
}

// given reports whether a kube-apiserver is selected.
func (f *kubeFlags) given() bool { return f.kubeconfig != "" || f.context != "" || f.inCluster }

func (f *kubeFlags) access() kube.Access {
	return kube.Access{Kubeconfig: f.kubeconfig, Context: f.context, InCluster: f.inCluster}
}
