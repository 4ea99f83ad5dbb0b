package api

import "strconv"

// Reason is the machine-readable cause of a [Status], spelled as Kubernetes
// spells it.
type Reason string

// The reasons in use.
const (
	ReasonBadRequest      Reason = "BadRequest"
	ReasonUnauthorized    Reason = "Unauthorized"
	ReasonForbidden       Reason = "Forbidden"
	ReasonNotFound        Reason = "NotFound"
	ReasonExpired         Reason = "Expired"
	ReasonTooLarge        Reason = "RequestEntityTooLarge"
	ReasonInvalid         Reason = "Invalid"
	ReasonTooManyRequests Reason = "TooManyRequests"
	ReasonInternalError   Reason = "InternalError"
	ReasonUnavailable     Reason = "ServiceUnavailable"
	ReasonTimeout         Reason = "Timeout"
	ReasonProtocol        Reason = "ProtocolError" // ours: a frame that breaks the protocol
)

// Status is an error as Kubernetes words it. Message is for the person who
// gets it: what was wrong, where, what was expected.
type Status struct {
	Code    int
	Reason  Reason
	Message string
	// Cause refines the reason, e.g. "ResourceVersionTooLarge". May be empty.
	Cause string
	// RetryAfterSeconds is when to try again; zero says nothing.
	RetryAfterSeconds int
	// Continue, on a 410 for a continue token, goes on from the same place at
	// the latest state (rule C52).
	Continue string
}

// Error implements error.
func (s *Status) Error() string {
	return strconv.Itoa(s.Code) + " " + string(s.Reason) + ": " + s.Message
}

// Is makes errors.Is match on code and reason alone.
func (s *Status) Is(target error) bool {
	t, ok := target.(*Status)
	return ok && t.Code == s.Code && t.Reason == s.Reason
}

// BadRequest is 400: the request cannot be understood.
func BadRequest(message string) *Status {
	return &Status{Code: 400, Reason: ReasonBadRequest, Message: message}
}

// Unauthorized is 401: who asks is not known.
func Unauthorized(message string) *Status {
	return &Status{Code: 401, Reason: ReasonUnauthorized, Message: message}
}

// Forbidden is 403: who asks may not.
func Forbidden(message string) *Status {
	return &Status{Code: 403, Reason: ReasonForbidden, Message: message}
}

// NotFound is 404.
func NotFound(message string) *Status {
	return &Status{Code: 404, Reason: ReasonNotFound, Message: message}
}

// Expired is 410: the resource version asked for is no longer served.
func Expired(message string) *Status {
	return &Status{Code: 410, Reason: ReasonExpired, Message: message}
}

// TooLarge is 413: an object or frame beyond a limit.
func TooLarge(message string) *Status {
	return &Status{Code: 413, Reason: ReasonTooLarge, Message: message}
}

// Invalid is 422: the request is understood and contradicts itself.
func Invalid(message string) *Status {
	return &Status{Code: 422, Reason: ReasonInvalid, Message: message}
}

// TooManyRequests is 429: try again after the given seconds.
func TooManyRequests(message string, retryAfterSeconds int) *Status {
	return &Status{Code: 429, Reason: ReasonTooManyRequests, Message: message, RetryAfterSeconds: retryAfterSeconds}
}

// Internal is 500.
func Internal(message string) *Status {
	return &Status{Code: 500, Reason: ReasonInternalError, Message: message}
}

// Unavailable is 503.
func Unavailable(message string) *Status {
	return &Status{Code: 503, Reason: ReasonUnavailable, Message: message}
}

// LimitReached is the refusal of a request, message or connection by a resource
// limit: 408 for a client that is too slow, 413 for a single one that is too large,
// 429 for too many of one client, 503 when the server is full. Its Cause is the name
// of the limit, which ends the message as well.
func LimitReached(code int, limit, message string) *Status {
	s := &Status{Code: code, Reason: ReasonUnavailable, RetryAfterSeconds: 5, Cause: limit, Message: message + " (limit: " + limit + ")"}
	switch code {
	case 408:
		s.Reason, s.RetryAfterSeconds = ReasonTimeout, 0
	case 413:
		s.Reason, s.RetryAfterSeconds = ReasonTooLarge, 0
	case 429:
		s.Reason, s.RetryAfterSeconds = ReasonTooManyRequests, 1
	}
	return s
}

// TooLargeResourceVersion is the 504 for a version from the future (rule C34).
func TooLargeResourceVersion(asked, current ResourceVersion) *Status {
	return &Status{
		Code: 504, Reason: ReasonTimeout, Cause: "ResourceVersionTooLarge", RetryAfterSeconds: 1,
		Message: "Timeout: Too large resource version: " + asked.String() + ", current: " + current.String(),
	}
}

// Protocol is the 400 for a peer that breaks the wire protocol.
func Protocol(message string) *Status {
	return &Status{Code: 400, Reason: ReasonProtocol, Message: message}
}

// AsStatus returns err as a Status, wrapping anything else as a 500 (rule C9).
func AsStatus(err error) *Status {
	if s, ok := err.(*Status); ok {
		return s
	}
	return Internal(err.Error())
}
