// Command embed-go prints every change to the pods that a connector serves.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"log/slog"
	"os"
	"os/signal"

	"github.com/watchglass/watchglass/host/client"
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: embed-go ws://127.0.0.1:8080/watch")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1], os.Stdout); err != nil && ctx.Err() == nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, url string, out io.Writer) error {
	c, err := client.Open(ctx, client.Config{URL: url, Logger: slog.Default()})
	if err != nil {
		return err
	}
	defer c.Close()
	pods, err := c.Collection(ctx, "v1/pods", client.CollectionOptions{})
	if err != nil {
		return err
	}
	watch, err := pods.Watch(ctx, client.WatchOptions{}) // starts with the existing objects
	if err != nil {
		return err
	}
	for event, err := range watch.Events(ctx) {
		if err != nil {
			return err
		}
		fmt.Fprintln(out, event.Type, event.Object.Key(), "at", event.ResourceVersion)
	}
	return nil
}
