package api

import "strconv"

// Reason is the machine-readable reason of a [Status], with the spelling of
// Kubernetes.
type Reason string

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
	ReasonProtocol        Reason = "ProtocolError" // not a Kubernetes reason: a frame violates the wire protocol
)

// The codes of a [Status] are HTTP status codes.
const (
	CodeOK                 = 200
	CodeBadRequest         = 400
	CodeUnauthorized       = 401
	CodeForbidden          = 403
	CodeNotFound           = 404
	CodeTimeout            = 408
	CodeGone               = 410
	CodeTooLarge           = 413
	CodeInvalid            = 422
	CodeTooManyRequests    = 429
	CodeInternalError      = 500
	CodeBadGateway         = 502
	CodeServiceUnavailable = 503
	CodeGatewayTimeout     = 504
)

// JoinUnavailable is the Cause of the status of a live collection whose joined columns have
// no current values.
const JoinUnavailable = "JoinUnavailable"

// Status is a Kubernetes API error. Message tells the user what is wrong, where, and what
// is expected.
type Status struct {
	Code    int
	Reason  Reason
	Message string
	// Cause refines the reason, for example "ResourceVersionTooLarge". It may be
	// empty.
	Cause string
	// RetryAfterSeconds is how long to wait before a retry, or zero if
	// unspecified.
	RetryAfterSeconds int
	// Continue is a new token in the 410 for an expired continue token. A list with
	// the new token continues at the same key, with the latest state (rule C52).
	Continue string
}

// Error implements the error interface.
func (s *Status) Error() string {
	return strconv.Itoa(s.Code) + " " + string(s.Reason) + ": " + s.Message
}

// Is reports, for errors.Is, whether target is a *Status with the same code and
// reason.
func (s *Status) Is(target error) bool {
	t, ok := target.(*Status)
	return ok && t.Code == s.Code && t.Reason == s.Reason
}

// BadRequest returns a 400 for a malformed request.
//
//go:noinline
func BadRequest(message string) *Status {
	return &Status{Code: CodeBadRequest, Reason: ReasonBadRequest, Message: message}
}

// Unauthorized returns a 401 for a client that is not authenticated.
func Unauthorized(message string) *Status {
	return &Status{Code: CodeUnauthorized, Reason: ReasonUnauthorized, Message: message}
}

// Forbidden returns a 403 for a client that is not authorized.
func Forbidden(message string) *Status {
	return &Status{Code: CodeForbidden, Reason: ReasonForbidden, Message: message}
}

// NotFound returns a 404 for a resource or object that does not exist.
func NotFound(message string) *Status {
	return &Status{Code: CodeNotFound, Reason: ReasonNotFound, Message: message}
}

// Expired returns a 410 for a resource version that is no longer available.
//
//go:noinline
func Expired(message string) *Status {
	return &Status{Code: CodeGone, Reason: ReasonExpired, Message: message}
}

// TooLarge returns a 413 for data that exceeds a size or memory limit.
func TooLarge(message string) *Status {
	return &Status{Code: CodeTooLarge, Reason: ReasonTooLarge, Message: message}
}

// Invalid returns a 422 for a request that is well formed but contradicts itself.
func Invalid(message string) *Status {
	return &Status{Code: CodeInvalid, Reason: ReasonInvalid, Message: message}
}

// TooManyRequests returns a 429 with a retry delay in seconds.
func TooManyRequests(message string, retryAfterSeconds int) *Status {
	return &Status{Code: CodeTooManyRequests, Reason: ReasonTooManyRequests, Message: message, RetryAfterSeconds: retryAfterSeconds}
}

// Internal returns a 500 for an unexpected error.
//
//go:noinline
func Internal(message string) *Status {
	return &Status{Code: CodeInternalError, Reason: ReasonInternalError, Message: message}
}

// Unavailable returns a 503 for a condition that is expected to be temporary.
//
//go:noinline
func Unavailable(message string) *Status {
	return &Status{Code: CodeServiceUnavailable, Reason: ReasonUnavailable, Message: message}
}

// LimitReached returns the error for a request, message or connection that exceeds a
// resource limit. The code is 408 for a client that is too slow and 413 for an item that
// is too large. The code is 429 for too many requests from one client and 503 for a
// server at capacity. Both Cause and the end of the message name the limit.
//
//go:noinline
func LimitReached(code int, limit, message string) *Status {
	s := &Status{Code: code, Reason: ReasonUnavailable, RetryAfterSeconds: 5, Cause: limit, Message: message + " (limit: " + limit + ")"}
	switch code {
	case CodeTimeout:
		s.Reason, s.RetryAfterSeconds = ReasonTimeout, 0
	case CodeTooLarge:
		s.Reason, s.RetryAfterSeconds = ReasonTooLarge, 0
	case CodeTooManyRequests:
		s.Reason, s.RetryAfterSeconds = ReasonTooManyRequests, 1
	}
	return s
}

// TooLargeResourceVersion returns the 504 for a resource version that has not been
// reached yet (rule C34).
func TooLargeResourceVersion(asked, current ResourceVersion) *Status {
	return &Status{
		Code: CodeGatewayTimeout, Reason: ReasonTimeout, Cause: "ResourceVersionTooLarge", RetryAfterSeconds: 1,
		Message: "Timeout: Too large resource version: " + asked.String() + ", current: " + current.String(),
	}
}

// Protocol returns the 400 for a peer that violates the wire protocol.
//
//go:noinline
func Protocol(message string) *Status {
	return &Status{Code: CodeBadRequest, Reason: ReasonProtocol, Message: message}
}

// AsStatus returns err if err is a *Status, and otherwise a 500 with the text of err
// (rule C9).
func AsStatus(err error) *Status {
	if s, ok := err.(*Status); ok {
		return s
	}
	return Internal(err.Error())
}
