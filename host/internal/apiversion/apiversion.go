// Package apiversion compares the versions of API groups.
package apiversion

import "strings"

// MoreStable reports whether version a precedes version b in the order of Kubernetes, such as
// v2, v1, v1beta1, v1alpha1.
func MoreStable(a, b string) bool {
	if rank(a) != rank(b) {
		return rank(a) > rank(b)
	}
	return len(a) > len(b) || len(a) == len(b) && a > b
}

func rank(version string) int {
	switch {
	case strings.Contains(version, "alpha"):
		return 0
	case strings.Contains(version, "beta"):
		return 1
	}
	return 2
}
