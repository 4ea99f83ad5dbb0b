package kube

import (
	"fmt"
	"io"
)

// WriteMetrics writes the policy's metrics in the Prometheus text format.
func (p *Policy) WriteMetrics(w io.Writer) {
	s := p.Stats()
	fmt.Fprintf(w, "# HELP watchglass_reviews_total Reviews requested from kube-apiserver, by kind.\n"+
		"# TYPE watchglass_reviews_total counter\n"+
		"watchglass_reviews_total{kind=\"token\"} %d\nwatchglass_reviews_total{kind=\"access\"} %d\n", s.TokenReviews, s.AccessReviews)
	fmt.Fprintf(w, "# HELP watchglass_cached_verdicts Verdicts of kube-apiserver that are cached, by decision.\n"+
		"# TYPE watchglass_cached_verdicts gauge\n"+
		"watchglass_cached_verdicts{decision=\"accepted\"} %d\nwatchglass_cached_verdicts{decision=\"refused\"} %d\n", s.Grants, s.Refusals)
}
