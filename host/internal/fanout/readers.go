package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"sync"

	"github.com/coder/websocket"
	"golang.org/x/sync/errgroup"

	"github.com/watchglass/watchglass/core/wire"
)

// These constants are the kinds of readers. They differ in the server to which the readers
// connect.
const (
	connectorKind = "connector"
	syncKind      = "sync" // a connector, with all readers subscribing to everything at the same time
	broadcastKind = "broadcast"
)

// maxMessage is the maximum length, in bytes, of a message that a reader accepts.
const maxMessage = 64 << 20

// readerProcess is the child process that contains all readers.
type readerProcess struct {
	command *exec.Cmd
	stdin   io.WriteCloser
}

// startReaders starts the process with the readers, and returns when every reader has
// received its initial state.
func startReaders(ctx context.Context, url, kind string, readers, share int) (*readerProcess, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	command := exec.CommandContext(ctx, self, "-child", url, "-kind", kind, "-readers", strconv.Itoa(readers), "-share", strconv.Itoa(share))
	command.Stderr = os.Stderr
	stdin, err := command.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, err
	}
	p := &readerProcess{command, stdin}
	if line, err := bufio.NewReader(stdout).ReadString('\n'); err != nil || line != "ready\n" {
		p.close()
		return nil, errors.New("the process with the readers did not start")
	}
	return p, nil
}

func (p *readerProcess) close() {
	p.stdin.Close()
	p.command.Wait()
}

// runReaders is the main function of the child process with the readers. It runs until its
// standard input is closed.
func runReaders(ctx context.Context, url, kind string, readers, share int) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var reading sync.WaitGroup
	var dialing errgroup.Group
	if kind != syncKind {
		dialing.SetLimit(64)
	}
	for i := range readers {
		dialing.Go(func() error {
			conn, err := dial(ctx, url, i)
			if err != nil {
				return err
			}
			switch kind {
			case connectorKind:
				err = subscribe(ctx, conn, selector(i, readers, share))
			case syncKind:
				err = subscribe(ctx, conn, "")
			}
			if err != nil {
				return err
			}
			reading.Go(func() { count(ctx, conn) })
			return nil
		})
	}
	if err := dialing.Wait(); err != nil {
		return err
	}
	fmt.Println("ready")
	_, err := io.Copy(io.Discard, os.Stdin)
	cancel()
	reading.Wait()
	return err
}

func dial(ctx context.Context, url string, i int) (*websocket.Conn, error) {
	conn, _, err := websocket.Dial(ctx, url, &websocket.DialOptions{
		Subprotocols: []string{wire.Subprotocol}, HTTPHeader: http.Header{"Reader": {strconv.Itoa(i)}},
	})
	if err != nil {
		return nil, err
	}
	conn.SetReadLimit(maxMessage)
	return conn, nil
}

// selector returns the label selector of the i-th reader. All selectors differ. Objects
// have the label "shard" and no label "reader", so the number of selectors that match a
// change is share.
func selector(i, readers, share int) string {
	return "shard=" + strconv.Itoa(i%(readers/share)) + ",reader!=" + strconv.Itoa(i)
}

func subscribe(ctx context.Context, conn *websocket.Conn, labels string) error {
	message := (&wire.Hello{Version: wire.Version, Client: "fanout"}).Append(nil)
	message = (&wire.Subscribe{Subscription: 1, Resource: podsName, LabelSelector: labels, Credit: 1 << 60}).Append(message)
	if err := conn.Write(ctx, websocket.MessageBinary, message); err != nil {
		return err
	}
	var fragments wire.Assembly
	for {
		_, message, err := conn.Read(ctx)
		if err == nil {
			message, err = fragments.Join(message)
		}
		if err != nil {
			return err
		}
		for len(message) > 0 {
			t, payload, rest, err := wire.Next(message)
			if err != nil {
				return err
			}
			switch message = rest; t {
			case wire.TypeSnapshotEnd:
				return nil
			case wire.TypeSubscriptionStatus:
				var f wire.SubscriptionStatus
				f.Parse(payload)
				return f.Status
			}
		}
	}
}

// count reads and discards messages until the connection ends.
func count(ctx context.Context, conn *websocket.Conn) {
	for {
		_, r, err := conn.Reader(ctx)
		if err != nil {
			return
		}
		if _, err := io.Copy(io.Discard, r); err != nil {
			return
		}
	}
}
