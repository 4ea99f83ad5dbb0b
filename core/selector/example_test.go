package selector_test

import (
	"fmt"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/selector"
)

// A watch evaluates both selectors for one pod.
func Example() {
	labels, err := selector.ParseLabels("tier in (web, api), !canary")
	if err != nil {
		panic(err)
	}
	fields, err := selector.ParseFields("status.phase!=Failed")
	if err != nil {
		panic(err)
	}
	bound, err := fields.Bind([]string{"metadata.name", "metadata.namespace", "status.phase"})
	if err != nil {
		panic(err)
	}

	podLabels := api.Labels{{Key: "app", Value: "shop"}, {Key: "tier", Value: "web"}}
	podFields := []string{"shop-7d9f", "default", "Running"}
	fmt.Println(labels)
	fmt.Println(labels.Matches(podLabels) && bound.Matches(func(i int) string { return podFields[i] }))

	_, err = selector.ParseLabels("tier in web")
	fmt.Println(err)
	// Output:
	// !canary,tier in (api,web)
	// true
	// label selector "tier in web": at offset 8: expected "(" after in, found "web"
}
