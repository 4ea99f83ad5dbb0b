package objectjson_test

import (
	"fmt"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/objectjson"
)

func Example() {
	scanner, err := objectjson.NewScanner(&api.Schema{
		Resource:   api.Resource{Version: "v1", Name: "pods"},
		Kind:       "Pod",
		Namespaced: true,
		Fields:     []string{"metadata.name", "metadata.namespace", "status.phase"},
		Columns: []api.Column{
			{Name: "Restarts", Kind: api.Integer, Path: ".status.containerStatuses[*].restartCount"},
			{Name: "Images", Kind: api.String, Path: ".spec.containers[*].image"},
			{Name: "Created", Kind: api.Date, Path: ".metadata.creationTimestamp"},
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	pod, err := scanner.Scan([]byte(`{"kind":"Pod","apiVersion":"v1",
"metadata":{"name":"web-0","namespace":"shop","resourceVersion":"4711",
 "creationTimestamp":"2026-01-02T03:04:05Z","labels":{"app":"web"},"managedFields":[{"manager":"kubectl"}]},
"spec":{"containers":[{"name":"web","image":"nginx:1.27"},{"name":"log","image":"fluent-bit:3"}]},
"status":{"phase":"Running","containerStatuses":[{"restartCount":2},{"restartCount":1}]}}`), objectjson.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(pod.Key, pod.ResourceVersion, pod.Labels, pod.Fields[2])
	fmt.Println(pod.Columns[0], pod.Columns[1], pod.Columns[2])

	body, _ := objectjson.SetResourceVersion(nil, []byte(`{"kind":"Pod","metadata":{"name":"web-0"}}`), 4712)
	fmt.Println(string(body))

	_, err = scanner.Scan([]byte(`{"metadata":{"name":"web-0"},"spec":{"containers":[{},{"image":nginx}]}}`), objectjson.Options{})
	fmt.Println(err)
	// Output:
	// shop/web-0 4711 app=web Running
	// 3 nginx:1.27,fluent-bit:3 1767323045000
	// {"kind":"Pod","metadata":{"resourceVersion":"4712","name":"web-0"}}
	// object JSON, offset 63 (spec.containers[1].image): expected a value, found 'n'
}
