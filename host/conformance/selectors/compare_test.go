package selectors

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/selector"
)

// stablySorted is the maximum number of requirements for which the library's sort is
// stable, so that requirements on one key stay in the written order.
const stablySorted = 12

// judge compares core/selector with the library on generated inputs, and counts the
// comparisons.
type judge struct {
	testing.TB
	source
	accepted, refused, matched, missed int
}

func newJudge(t testing.TB, seed int64) *judge { return &judge{TB: t, source: newSource(seed)} }

// sameVerdict checks that both implementations accept or both reject an input, and reports
// whether both accept it.
func (j *judge) sameVerdict(what string, want, got error) bool {
	if (want == nil) != (got == nil) {
		j.Errorf("%q: the library returns %v, ours %v", what, want, got)
		return false
	}
	if want != nil {
		j.refused++
		return false
	}
	j.accepted++
	return true
}

func same[T comparable](j *judge, what, question string, want, got T) {
	if want != got {
		j.Errorf("%q: %s: the library returns %#v, ours %#v", what, question, want, got)
	}
}

func (j *judge) matches(what string, set map[string]string, want, got bool) {
	if want != got {
		j.Errorf("%q: does %q match: the library returns %v, ours %v", what, set, want, got)
	}
	if want {
		j.matched++
	} else {
		j.missed++
	}
}

// checkRefusal checks that an error, if not nil, is a syntax error with the text and an
// offset within the text.
func (j *judge) checkRefusal(text string, err error) {
	var syntax *selector.SyntaxError
	if err != nil && (!errors.As(err, &syntax) || syntax.Text != text || syntax.Offset < 0 || syntax.Offset > len(text)) {
		j.Errorf("%q: the error does not point into the text: %#v", text, err)
	}
}

func (j *judge) labelText(text string) {
	want, wantErr := labels.Parse(text)
	got, err := selector.ParseLabels(text)
	j.checkRefusal(text, err)
	if j.sameVerdict(text, wantErr, err) {
		j.labels(text, want, got)
	}
}

func (j *judge) labels(what string, want labels.Selector, got selector.Labels) {
	requirements, _ := want.Requirements()
	same(j, what, "empty", want.Empty(), got.Empty())
	if len(requirements) <= stablySorted {
		same(j, what, "canonical text", want.String(), got.String())
		for _, key := range keys {
			wantValue, wantOK := want.RequiresExactMatch(key)
			value, ok := got.RequiresExactMatch(key)
			same(j, what, "exact match of "+key, wantOK, ok)
			same(j, what, "exact value of "+key, wantValue, value)
		}
	}
	for range 4 {
		set := j.labelSet(requirements)
		j.matches(what, set, want.Matches(set), got.Matches(ours(set)))
	}
}

// ours converts a label set to the type that core/selector accepts.
func ours(set labels.Set) api.Labels {
	var list api.Labels
	for _, key := range slices.Sorted(maps.Keys(set)) {
		list = append(list, api.Label{Key: key, Value: set[key]})
	}
	return list
}

func (j *judge) fieldText(text string) {
	want, wantErr := fields.ParseSelector(text)
	got, err := selector.ParseFields(text)
	j.checkRefusal(text, err)
	if !j.sameVerdict(text, wantErr, err) {
		return
	}
	same(j, text, "empty", want.Empty(), got.Empty())
	same(j, text, "canonical text", want.String(), got.String())
	for _, field := range fieldNames {
		wantValue, wantOK := want.RequiresExactMatch(field)
		value, ok := got.RequiresExactMatch(field)
		same(j, text, "exact match of "+field, wantOK, ok)
		same(j, text, "exact value of "+field, wantValue, value)
	}
	bound, bindErr := got.Bind(fieldNames)
	for range 4 {
		set := j.fieldSet(want.Requirements())
		verdict := want.Matches(set)
		j.matches(text, set, verdict, got.Matches(func(field string) (string, bool) {
			value, ok := set[field]
			return value, ok
		}))
		if bindErr == nil {
			j.matches(text+", bound", set, verdict, bound.Matches(func(i int) string { return set[fieldNames[i]] }))
		}
	}
}

// labelOperators maps the operators of the library to the operators of core/selector. The
// last two are invalid.
var labelOperators = map[selection.Operator]selector.Operator{
	selection.Exists: selector.Exists, selection.DoesNotExist: selector.DoesNotExist,
	selection.Equals: selector.Equals, selection.DoubleEquals: selector.DoubleEquals, selection.NotEquals: selector.NotEquals,
	selection.In: selector.In, selection.NotIn: selector.NotIn,
	selection.GreaterThan: selector.GreaterThan, selection.LessThan: selector.LessThan,
	"": "", "bogus": "bogus",
}

var labelOperatorList = slices.Sorted(maps.Keys(labelOperators))

// builtRequirement compares requirements that are built from their parts.
func (j *judge) builtRequirement() {
	key, op := j.key(), labelOperatorList[j.Intn(len(labelOperatorList))]
	var list []string
	for range j.Intn(4) {
		if value := j.pick(values); !slices.Contains(list, value) {
			list = append(list, value)
		}
	}
	what := key + " " + string(op) + " (" + strings.Join(list, ",") + ")"
	want, wantErr := labels.NewRequirement(key, op, slices.Clone(list))
	got, err := selector.NewRequirement(key, labelOperators[op], slices.Clone(list))
	if j.sameVerdict(what, wantErr, err) {
		same(j, what, "text", want.String(), got.String())
		j.labels(what, labels.NewSelector().Add(*want), selector.FromRequirements(got))
	}
}

// fromSet compares selectors that are built from a label set, valid or not.
func (j *judge) fromSet() {
	set := j.labelSet(nil)
	if j.oneIn(3) {
		set[j.pick(badKeys)] = j.pick(values)
	}
	what := "the set " + set.String()
	j.labels(what, labels.SelectorFromSet(set), selector.FromSet(ours(set)))
	want, wantErr := labels.ValidatedSelectorFromSet(set)
	got, err := selector.FromValidatedSet(ours(set))
	if j.sameVerdict(what, wantErr, err) {
		j.labels(what, want, got)
	}
}
