package kube

import (
	"io"
	"net/http"
	"strconv"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/kubewatch"
)

// maxError limits the size of an error response.
const maxError = 64 << 10

// refusal converts an error response to a Status, and closes the body of the response.
func refusal(about string, resp *http.Response) *api.Status {
	defer resp.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxError)) // a partial body is sufficient
	refused := kubewatch.Response{Code: resp.StatusCode, RetryAfterSeconds: retryAfter(resp), Body: body}
	status := refused.Refusal()
	status.Message = about + ": " + status.Message
	return status
}

// retryAfter returns the pause in seconds that a response requests, or zero.
func retryAfter(resp *http.Response) int {
	seconds, err := strconv.Atoi(resp.Header.Get("Retry-After"))
	if err != nil || seconds < 0 {
		return 0
	}
	return seconds
}
