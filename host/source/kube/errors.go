package kube

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"github.com/watchglass/watchglass/core/api"
)

// reasonStorageRead is the server's reason for stored bytes that it cannot decode.
const reasonStorageRead api.Reason = "StorageReadError"

// maxError limits the size of an error response.
const maxError = 64 << 10

// kubeStatus contains the forwarded members of a Kubernetes Status.
type kubeStatus struct {
	Kind    string
	Code    int
	Reason  string
	Message string
	Details struct {
		RetryAfterSeconds int
		Causes            []struct{ Reason string }
	}
	Metadata struct{ Continue string }
}

// toStatus adds the context to the server's message.
func (k *kubeStatus) toStatus(about string) *api.Status {
	s := &api.Status{
		Code: k.Code, Reason: api.Reason(k.Reason), Message: about + ": " + k.Message,
		RetryAfterSeconds: k.Details.RetryAfterSeconds, Continue: k.Metadata.Continue,
	}
	if len(k.Details.Causes) > 0 {
		s.Cause = k.Details.Causes[0].Reason
	}
	if s.Code == http.StatusGone {
		s.Reason = api.ReasonExpired // servers also use Gone (rule P18)
	}
	return s
}

// refusal parses a response other than 200, and closes the body.
func refusal(about string, resp *http.Response) *api.Status {
	defer resp.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxError)) // a partial body is sufficient
	var k kubeStatus
	if json.Unmarshal(body, &k) != nil || k.Kind != "Status" || k.Code == 0 {
		k = kubeStatus{Code: resp.StatusCode, Reason: reasonOf(resp.StatusCode)}
		k.Message = fmt.Sprintf("the server answers %s: %.300q", resp.Status, body)
	}
	if seconds, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && seconds > 0 {
		k.Details.RetryAfterSeconds = seconds
	}
	if k.Code == http.StatusUnauthorized {
		k.Message += ": the credentials are missing, wrong or expired"
	}
	return k.toStatus(about)
}

func reasonOf(code int) string {
	switch code {
	case http.StatusBadRequest:
		return string(api.ReasonBadRequest)
	case http.StatusUnauthorized:
		return string(api.ReasonUnauthorized)
	case http.StatusForbidden:
		return string(api.ReasonForbidden)
	case http.StatusNotFound:
		return string(api.ReasonNotFound)
	case http.StatusGone:
		return string(api.ReasonExpired)
	case http.StatusTooManyRequests:
		return string(api.ReasonTooManyRequests)
	case http.StatusGatewayTimeout:
		return string(api.ReasonTimeout)
	case http.StatusInternalServerError:
		return string(api.ReasonInternalError)
	}
	return string(api.ReasonUnavailable)
}
