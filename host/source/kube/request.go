package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// do sends a GET and returns the response if its code is 200. The caller closes the
// body. about is the prefix of errors.
func (s *Source) do(ctx context.Context, about, path string, query url.Values, accept string) (*http.Response, error) {
	target := *s.base
	target.Path = strings.TrimSuffix(target.Path, "/") + path
	target.RawQuery = query.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), nil)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", about, err)
	}
	req.Header.Set("Accept", accept)
	resp, err := s.client.Load().Do(req)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", about, transportError(ctx, err))
	}
	if resp.StatusCode != http.StatusOK {
		return nil, refusal(about, resp)
	}
	return resp, nil
}

// transportError prefers the cause of ctx, and omits the long address, which is
// already in the caller's message.
func transportError(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		return wrapped.Err
	}
	return err
}

// getJSON requests a small document.
func (s *Source) getJSON(ctx context.Context, path string, query url.Values, into any) error {
	ctx, cancel := context.WithTimeoutCause(ctx, s.config.RequestTimeout,
		fmt.Errorf("no answer within %v", s.config.RequestTimeout))
	defer cancel()
	about := "kube-apiserver " + s.base.Host + ": GET " + path
	resp, err := s.do(ctx, about, path, query, "application/json")
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(into); err != nil {
		return fmt.Errorf("%s: the answer is not the JSON expected: %w", about, transportError(ctx, err))
	}
	return nil
}
