// Package clients contains helpers for tests whose readers use client-go.
package clients

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// Typed returns a client of the core group.
func Typed(t testing.TB, config *rest.Config) rest.Interface {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, corev1.AddToScheme(scheme))
	config = rest.CopyConfig(config)
	config.APIPath, config.GroupVersion = "/api", &corev1.SchemeGroupVersion
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	client, err := rest.RESTClientFor(config)
	require.NoError(t, err)
	return client
}

// Difference returns an error if a client's store differs from the map want, and nil
// otherwise. The function plain converts each object of the store for the comparison. The
// map contains converted objects by "namespace/name".
func Difference(store cache.Store, want map[string]any, plain func(any) any) error {
	here := map[string]bool{}
	for _, o := range store.List() {
		key, err := cache.MetaNamespaceKeyFunc(o)
		if err != nil {
			return err
		}
		expected, ok := want[key]
		if !ok {
			return fmt.Errorf("%s exists, expected none", key)
		}
		if got := plain(o); !equality.Semantic.DeepEqual(expected, got) {
			return fmt.Errorf("%s is\n%+v, expected\n%+v", key, got, expected)
		}
		here[key] = true
	}
	for key := range want {
		if !here[key] {
			return fmt.Errorf("%s is missing", key)
		}
	}
	return nil
}
