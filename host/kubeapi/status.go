package kubeapi

import (
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/watchglass/watchglass/core/api"
)

// These reasons occur only in HTTP responses, so package api does not define them.
const (
	reasonMethodNotAllowed api.Reason = "MethodNotAllowed"
	reasonNotAcceptable    api.Reason = "NotAcceptable"
	reasonUnsupportedMedia api.Reason = "UnsupportedMediaType"
)

// statusObject is the JSON form of a v1 Status.
type statusObject struct {
	Kind       string         `json:"kind"`
	APIVersion string         `json:"apiVersion"`
	Metadata   statusMetadata `json:"metadata"`
	Status     string         `json:"status"`
	Message    string         `json:"message,omitempty"`
	Reason     api.Reason     `json:"reason,omitempty"`
	Details    *statusDetails `json:"details,omitempty"`
	Code       int            `json:"code"`
}

type statusMetadata struct {
	Continue string `json:"continue,omitempty"`
}

type statusDetails struct {
	Name              string        `json:"name,omitempty"`
	Group             string        `json:"group,omitempty"`
	Kind              string        `json:"kind,omitempty"`
	Causes            []statusCause `json:"causes,omitempty"`
	RetryAfterSeconds int           `json:"retryAfterSeconds,omitempty"`
}

type statusCause struct {
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// AppendStatus appends a v1 Status (rules P6, P18, P20).
func AppendStatus(dst []byte, s *api.Status) []byte { return appendStatus(dst, s, statusDetails{}) }

// appendStatus is like AppendStatus, but adds the given details.
func appendStatus(dst []byte, s *api.Status, about statusDetails) []byte {
	o := statusObject{
		Kind: "Status", APIVersion: "v1", Metadata: statusMetadata{s.Continue}, Status: "Failure",
		Message: s.Message, Reason: s.Reason, Code: s.Code,
	}
	about.RetryAfterSeconds = s.RetryAfterSeconds
	if s.Cause != "" {
		about.Causes = []statusCause{{Reason: s.Cause, Message: s.Message}}
	}
	if about.Name != "" || about.Kind != "" || about.Causes != nil || about.RetryAfterSeconds != 0 {
		o.Details = &about
	}
	text, err := json.Marshal(o)
	if err != nil {
		panic(err) // impossible for strings and numbers
	}
	return append(dst, text...)
}

// fail responds with a Status.
func fail(w http.ResponseWriter, s *api.Status, about statusDetails) {
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Cache-Control", "no-cache, private")
	if s.RetryAfterSeconds > 0 {
		h.Set("Retry-After", strconv.Itoa(s.RetryAfterSeconds))
	}
	code := s.Code
	if code < 400 || code > 599 {
		code = http.StatusInternalServerError
	}
	w.WriteHeader(code)
	w.Write(append(appendStatus(nil, s, about), '\n')) // the client may be gone
}
