package kubeapi

import (
	"math"
	"net/url"
	"strconv"
	"strings"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/selector"
)

// params are the parsed parameters of a query.
type params struct {
	watch             bool
	selection         selector.Selection
	resourceVersion   string
	match             api.Match
	limit             uint32
	cont              string
	timeoutSeconds    uint32 // zero if not given
	bookmarks         bool
	sendInitialEvents api.Tristate
	include           include
}

// include selects how much of the object a table row contains (rule P12).
type include string

const (
	includeNone     include = "None"
	includeMetadata include = "Metadata"
	includeObject   include = "Object"
)

// parseParams parses a query. It ignores unknown parameters, as Kubernetes does.
func parseParams(query string, limits selector.Limits) (params, *api.Status) {
	values, err := url.ParseQuery(query)
	if err != nil {
		return params{}, api.BadRequest("the query of the URL is invalid: " + err.Error())
	}
	p := params{
		watch:           boolean(values, "watch") == api.True,
		resourceVersion: values.Get("resourceVersion"),
		cont:            values.Get("continue"),
		bookmarks:       boolean(values, "allowWatchBookmarks") == api.True,
	}
	p.sendInitialEvents = boolean(values, "sendInitialEvents")
	var status *api.Status
	if p.selection, status = limits.Parse(values.Get("labelSelector"), values.Get("fieldSelector")); status != nil {
		return params{}, status
	}
	if p.limit, status = number(values, "limit"); status != nil {
		return params{}, status
	}
	if p.timeoutSeconds, status = number(values, "timeoutSeconds"); status != nil {
		return params{}, status
	}
	if p.match, status = parseMatch(values.Get("resourceVersionMatch")); status != nil {
		return params{}, status
	}
	if p.include, status = parseInclude(values.Get("includeObject")); status != nil {
		return params{}, status
	}
	return p, p.validate()
}

// validate returns a status for options that must not be combined (rules C11, C47), and nil
// otherwise.
func (p *params) validate() *api.Status {
	switch {
	case p.watch && p.match == api.MatchExact:
		return api.Invalid(`resourceVersionMatch "Exact" is not supported for a watch: must be "NotOlderThan"`)
	case p.watch && p.match != api.MatchUnset && p.cont != "":
		return api.Invalid("resourceVersionMatch is forbidden when continue is given")
	case !p.watch && p.sendInitialEvents != api.Unset:
		return api.Invalid("sendInitialEvents is forbidden for a list")
	}
	return nil
}

// pin restricts the field selector to one name. If the query has a field selector, it must
// already require that name (rule FS10).
func (p *params) pin(name string) *api.Status {
	fields, err := selector.PinName(p.selection.Fields, name)
	if err != nil {
		return api.AsStatus(err)
	}
	p.selection.Fields = fields
	return nil
}

// wantsWatchList reports whether a watch sends a bookmark after its initial events, by
// request or by default (rules C10, C15).
func (p *params) wantsWatchList() bool {
	byDefault := p.sendInitialEvents == api.Unset && p.match == api.MatchUnset &&
		(p.resourceVersion == "" || p.resourceVersion == "0")
	return p.bookmarks && (byDefault || p.sendInitialEvents == api.True)
}

// boolean returns the value of a parameter, or Unset if the query does not contain it.
// Every value except "0" and "false" means true, including the empty string.
func boolean(values url.Values, name string) api.Tristate {
	if !values.Has(name) {
		return api.Unset
	}
	if v := values.Get(name); v == "0" || strings.EqualFold(v, "false") {
		return api.False
	}
	return api.True
}

func number(values url.Values, name string) (uint32, *api.Status) {
	text := values.Get(name)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, api.BadRequest(name + "=" + strconv.Quote(text) + ": expected a number, zero or more")
	}
	return uint32(min(n, math.MaxUint32)), nil
}

func parseMatch(text string) (api.Match, *api.Status) {
	switch text {
	case "":
		return api.MatchUnset, nil
	case "NotOlderThan":
		return api.MatchNotOlderThan, nil
	case "Exact":
		return api.MatchExact, nil
	}
	return 0, api.Invalid("resourceVersionMatch=" + strconv.Quote(text) + `: supported are "Exact", "NotOlderThan" and ""`)
}

func parseInclude(text string) (include, *api.Status) {
	switch i := include(text); i {
	case "":
		return includeMetadata, nil
	case includeNone, includeMetadata, includeObject:
		return i, nil
	}
	return "", api.BadRequest("includeObject=" + strconv.Quote(text) + `: expected "None", "Metadata" or "Object"`)
}
