package access

import (
	"context"

	"github.com/watchglass/watchglass/core/api"
)

// Rules are the rights of a user in one namespace, in the form of the status of a
// SelfSubjectRulesReview.
type Rules struct {
	Resources    []ResourceRule    `json:"resourceRules"`
	NonResources []NonResourceRule `json:"nonResourceRules"`
	// Incomplete reports that the user may have further rights. EvaluationError
	// contains the cause.
	Incomplete      bool   `json:"incomplete"`
	EvaluationError string `json:"evaluationError,omitempty"`
}

// ResourceRule grants verbs on resources. "*" means all.
type ResourceRule struct {
	Verbs         []string `json:"verbs"`
	APIGroups     []string `json:"apiGroups,omitempty"`
	Resources     []string `json:"resources,omitempty"`
	ResourceNames []string `json:"resourceNames,omitempty"`
}

// NonResourceRule grants verbs on paths that are not resources.
type NonResourceRule struct {
	Verbs           []string `json:"verbs"`
	NonResourceURLs []string `json:"nonResourceURLs,omitempty"`
}

// Ruler is a Policy that can list the rights of a user.
type Ruler interface {
	// Rules returns the rights of a user in a namespace. The user is the result of
	// Authenticate for the token. The rules may include rights other than reads.
	Rules(ctx context.Context, token string, user *User, namespace string) (*Rules, *api.Status)
}

// RulesOf returns the rules of a user. The rules are marked as incomplete if the policy
// cannot list them.
func RulesOf(ctx context.Context, p Policy, token string, user *User, namespace string) (*Rules, *api.Status) {
	ruler, ok := p.(Ruler)
	if !ok {
		return UnknownRules("this server can check single rights and cannot list them: use SelfSubjectAccessReview"), nil
	}
	return ruler.Rules(ctx, token, user, namespace)
}

// UnknownRules returns rules that list no rights and are marked as incomplete.
func UnknownRules(reason string) *Rules {
	return &Rules{Incomplete: true, EvaluationError: reason}
}

// allRules returns rules that grant every read.
func allRules() *Rules {
	return &Rules{Resources: []ResourceRule{{
		Verbs: []string{"get", "list", "watch"}, APIGroups: []string{"*"}, Resources: []string{"*"},
	}}}
}

// Rules implements Ruler.
func (everyone) Rules(context.Context, string, *User, string) (*Rules, *api.Status) {
	return allRules(), nil
}

// Rules implements Ruler.
func (o only) Rules(context.Context, string, *User, string) (*Rules, *api.Status) {
	rules := &Rules{}
	for _, r := range o.resources {
		rules.Resources = append(rules.Resources, ResourceRule{
			Verbs: []string{"get", "list", "watch"}, APIGroups: []string{r.Group}, Resources: []string{r.Name},
		})
	}
	return rules, nil
}

// Rules implements Ruler.
func (*Tokens) Rules(context.Context, string, *User, string) (*Rules, *api.Status) {
	return allRules(), nil
}
