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

// get sends a GET, and returns the response regardless of its status code.
func (s *Source) get(ctx context.Context, path string, query url.Values) (*http.Response, error) {
	target := *s.base
	target.Path = strings.TrimSuffix(target.Path, "/") + path
	target.RawQuery = query.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	return s.client.Load().Do(req)
}

// transportError returns the cause of ctx if ctx is done. Otherwise it returns err
// without the URL, because the caller's message already contains the address.
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

// getJSON sends a GET and decodes the JSON of the response, within RequestTimeout.
func (s *Source) getJSON(ctx context.Context, path string, into any) error {
	ctx, cancel := context.WithTimeoutCause(ctx, s.config.RequestTimeout,
		fmt.Errorf("no response within %v", s.config.RequestTimeout))
	defer cancel()
	about := "kube-apiserver " + s.base.Host + ": GET " + path
	resp, err := s.get(ctx, path, nil)
	if err != nil {
		return fmt.Errorf("%s: %w", about, transportError(ctx, err))
	}
	if resp.StatusCode != http.StatusOK {
		return refusal(about, resp)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(into); err != nil {
		return fmt.Errorf("%s: the response is not the expected JSON: %w", about, transportError(ctx, err))
	}
	return nil
}
