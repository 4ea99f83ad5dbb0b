package coretest

import (
	"strings"

	"github.com/watchglass/watchglass/core/wire"
)

// The verbs in this file simulate a Kubernetes API that the engine reads directly. The
// scenario contains every response.

func doAnswer(h *harness, v *verb) error {
	return h.command(v, &wire.Fetched{
		Stream: v.takeNumber("the number of the stream"), Code: int(v.takeNumber("a code such as 200")),
		RetryAfterSeconds: int(v.optionNumber("retry")),
	})
}

func doBody(h *harness, v *verb) error {
	stream, size, open := v.takeNumber("the number of the stream"), int(v.optionNumber("pieces")), v.flag("open")
	if err := v.done(); err != nil {
		return err
	}
	var lines []string
	for _, line := range v.block {
		lines = append(lines, line.text)
	}
	body := strings.Join(lines, "\n")
	if !open {
		body += "\n"
	}
	for len(body) > 0 {
		n := len(body)
		if size > 0 {
			n = min(size, n)
		}
		if err := h.toEngine(&wire.StreamData{Stream: stream, Data: []byte(body[:n])}); err != nil {
			return err
		}
		body = body[n:]
	}
	return nil
}

func doEnd(h *harness, v *verb) error {
	return h.command(v, &wire.StreamClosed{Stream: v.takeNumber("the number of the stream"), Message: v.rest()})
}
