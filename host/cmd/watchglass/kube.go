package main

import (
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"github.com/watchglass/watchglass/host/source/kube"
)

// kubeFlags select the kube-apiserver and the credentials.
type kubeFlags struct {
	kubeconfig string
	context    string
	inCluster  bool
	metrics    time.Duration
}

func (f *kubeFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.kubeconfig, "kubeconfig", "", "kubeconfig file of the cluster to read (default with --context: $KUBECONFIG or ~/.kube/config)")
	flags.StringVar(&f.context, "context", "", "context of the kubeconfig (default: its current context)")
	flags.BoolVar(&f.inCluster, "in-cluster", false, "read the cluster that this pod runs in, with the pod's service account")
	flags.DurationVar(&f.metrics, "metrics-interval", kube.DefaultMetricsInterval, "time between two lists of a resource of metrics.k8s.io while it has readers; 0 does not serve these resources")
}

// given reports whether the flags select a kube-apiserver.
func (f *kubeFlags) given() bool { return f.kubeconfig != "" || f.context != "" || f.inCluster }

// metricsInterval returns the value for kube.Config.MetricsInterval, which is negative if
// --metrics-interval is 0.
func (f *kubeFlags) metricsInterval() (time.Duration, error) {
	switch {
	case f.metrics == 0:
		return -1, nil
	case f.metrics < kube.MinMetricsInterval || f.metrics > kube.MaxMetricsInterval:
		return 0, fmt.Errorf("--metrics-interval %v: expected %v to %v, or 0 for no metrics", f.metrics, kube.MinMetricsInterval, kube.MaxMetricsInterval)
	}
	return f.metrics, nil
}

func (f *kubeFlags) access() kube.Access {
	return kube.Access{Kubeconfig: f.kubeconfig, Context: f.context, InCluster: f.inCluster}
}
