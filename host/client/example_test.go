package client_test

import (
	"context"
	"fmt"
	"log"

	"github.com/watchglass/watchglass/host/client"
)

// This example prints the existing objects, and then every change. It needs a connector,
// such as the one that "watchglass demo" starts. The program in examples/embed-go does
// the same.
func Example() {
	ctx := context.Background()
	c, err := client.Open(ctx, client.Config{URL: "ws://127.0.0.1:8080/watch"})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	pods, err := c.Collection(ctx, "v1/pods", client.CollectionOptions{Namespace: "shop"})
	if err != nil {
		log.Fatal(err)
	}
	list, err := pods.List(ctx, client.ListOptions{LabelSelector: "app=web"})
	if err != nil {
		log.Fatal(err)
	}
	for _, pod := range list.Items {
		fmt.Println(pod.Key())
	}
	watch, err := pods.Watch(ctx, client.WatchOptions{LabelSelector: "app=web", ResourceVersion: list.ResourceVersion.String()})
	if err != nil {
		log.Fatal(err)
	}
	defer watch.Close()
	for event, err := range watch.Events(ctx) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(event.Type, event.Object.Key())
	}
}

// This example prints the ten pods with the most restarts, whenever they change.
func ExampleCollection_View() {
	ctx := context.Background()
	c, err := client.Open(ctx, client.Config{URL: "ws://127.0.0.1:8080/watch"})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	pods, err := c.Collection(ctx, "v1/pods", client.CollectionOptions{})
	if err != nil {
		log.Fatal(err)
	}
	view, err := pods.View(ctx, client.ViewOptions{Sort: "-Restarts", Limit: 10})
	if err != nil {
		log.Fatal(err)
	}
	defer view.Close()
	for snapshot, err := range view.Snapshots(ctx) {
		if err != nil {
			log.Fatal(err)
		}
		for _, row := range snapshot.Rows {
			fmt.Println(row.Key())
		}
	}
}
