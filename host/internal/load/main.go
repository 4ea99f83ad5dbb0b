//go:build linux

package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"runtime/debug"
	"strconv"
	"syscall"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) > 1 && os.Args[1] == floodCommand {
		if err := runFlood(os.Args[2:], os.Stdin, os.Stdout); err != nil {
			log.Fatal("load: ", err)
		}
		return
	}
	if len(os.Args) > 1 && os.Args[1] == sizingCommand {
		if err := runSizing(os.Args[2:], os.Stdout); err != nil {
			log.Fatal("load: ", err)
		}
		return
	}
	debug.SetGCPercent(400) // the garbage collector must not delay the readers that measure latencies
	c := Config{Out: os.Stderr}
	c.add(flag.CommandLine)
	check := flag.Bool("check", false, "exit with status 1 when a target is missed")
	flag.Parse()
	if err := c.validate(); err != nil {
		log.Fatal("load: ", err)
	}
	// The clients belong to only a few users, so raise the limit per user too.
	clients := strconv.Itoa(2 * (c.Readers + c.Idle + c.FirstSyncs))
	c.Serve = []string{"--max-readers", clients, "--max-connections-per-user", clients, "--max-memory", strconv.FormatInt(c.Ceiling, 10)}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	report, err := Run(ctx, c)
	if err != nil {
		log.Fatalf("load: %v\nlogs are in %s", err, c.Dir)
	}
	if err := report.print(os.Stdout); err != nil {
		log.Fatal("load: ", err)
	}
	missed := report.missed(c.Ceiling)
	for _, m := range missed {
		fmt.Println("missed:", m)
	}
	if len(missed) == 0 {
		fmt.Println("all targets are met")
	}
	if *check && len(missed) > 0 {
		os.Exit(1)
	}
}
