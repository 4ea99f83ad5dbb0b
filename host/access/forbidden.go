package access

import (
	"fmt"
	"strings"

	"github.com/watchglass/watchglass/core/api"
)

// Forbidden returns the 403 for a user without the right to a request. The message names
// the missing right as kube-apiserver does: the verb, the resource, its group and the
// namespace. The reason of the policy follows, unless it is empty.
func Forbidden(user *User, r Request, reason string) *api.Status {
	message := missing(user, r)
	if reason != "" {
		message += ": " + reason
	}
	return api.Forbidden(message)
}

// Reason returns the policy's reason in a status that Forbidden has returned for the
// same user and request. For any other status it returns the message.
func Reason(refused *api.Status, user *User, r Request) string {
	rest, ok := strings.CutPrefix(refused.Message, missing(user, r))
	if !ok {
		return refused.Message
	}
	return strings.TrimPrefix(rest, ": ")
}

// missing returns a description of the missing right. A request to list and watch is
// described as list, because the user needs both rights.
func missing(user *User, r Request) string {
	verb := r.Verb
	if verb == "" {
		verb = "list"
	}
	if r.Path != "" {
		return fmt.Sprintf("forbidden: User %q cannot %s path %q", user.Name, verb, r.Path)
	}
	about := r.Resource.Name
	if r.Resource.Group != "" {
		about += "." + r.Resource.Group
	}
	if r.Name != "" {
		about = fmt.Sprintf("%s %q", about, r.Name)
	}
	where := "at the cluster scope"
	if r.Namespace != "" {
		where = fmt.Sprintf("in the namespace %q", r.Namespace)
	}
	resource := r.Resource.Name
	if r.Subresource != "" {
		resource += "/" + r.Subresource
	}
	return fmt.Sprintf("%s is forbidden: User %q cannot %s resource %q in API group %q %s",
		about, user.Name, verb, resource, r.Resource.Group, where)
}
