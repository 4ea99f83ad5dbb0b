package selector_test

import (
	"math/rand"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/selector"
)

// condition is a simple model of a requirement or a field term. It neither
// parses nor sorts, and searches linearly.
type condition struct {
	key    string
	op     selector.Operator
	values []string
}

func (c condition) holds(labels map[string]string) bool {
	value, present := labels[c.key]
	listed := false
	for _, v := range c.values {
		listed = listed || v == value
	}
	switch c.op {
	case "exists":
		return present
	case "!":
		return !present
	case "=", "==", "in":
		return present && listed
	case "!=", "notin":
		return !(present && listed)
	}
	number, err := strconv.ParseInt(value, 10, 64)
	bound, _ := strconv.ParseInt(c.values[0], 10, 64)
	return present && err == nil && (c.op == ">" && number > bound || c.op == "<" && number < bound)
}

func allHold(conditions []condition, labels map[string]string) bool {
	for _, c := range conditions {
		if !c.holds(labels) {
			return false
		}
	}
	return true
}

// text returns the condition as a selector, with random whitespace where it is
// allowed.
func (c condition) text(random *rand.Rand) string {
	blank := func() string { return pick(random, "", "", "", " ", "\t", "\r\n") }
	switch c.op {
	case "exists":
		return blank() + c.key + blank()
	case "!":
		return blank() + "!" + blank() + c.key + blank()
	case "in", "notin":
		values := slices.Clone(c.values)
		for i := range values {
			values[i] = blank() + values[i] + blank()
		}
		return blank() + c.key + " " + blank() + string(c.op) + blank() + "(" + strings.Join(values, ",") + ")" + blank()
	}
	return blank() + c.key + blank() + string(c.op) + blank() + c.values[0] + blank()
}

func pick[T any](random *rand.Rand, choices ...T) T { return choices[random.Intn(len(choices))] }

func randomKey(random *rand.Rand) string { return pick(random, "a", "b", "in", "x.y/z") }

func randomValue(random *rand.Rand) string { return pick(random, "", "1", "2", "03", "in", "v_w") }

func randomCondition(random *rand.Rand) condition {
	c := condition{key: randomKey(random)}
	c.op = pick[selector.Operator](random, "exists", "!", "=", "==", "!=", "in", "notin", ">", "<")
	switch c.op {
	case "exists", "!":
	case ">", "<":
		c.values = []string{pick(random, "0", "1", "02", "9223372036854775807")}
	case "in", "notin":
		for range 1 + random.Intn(4) {
			c.values = append(c.values, randomValue(random))
		}
	default:
		c.values = []string{randomValue(random)}
	}
	return c
}

func randomMap(random *rand.Rand) map[string]string {
	labels := map[string]string{}
	for range random.Intn(5) {
		labels[randomKey(random)] = pick(random, randomValue(random), "-1", "x")
	}
	return labels
}

func toSet(labels map[string]string) api.Labels {
	var set api.Labels
	for key, value := range labels {
		set = append(set, api.Label{Key: key, Value: value})
	}
	slices.SortFunc(set, func(a, b api.Label) int { return strings.Compare(a.Key, b.Key) })
	return set
}

func TestProperty_LabelsAgreeWithNaiveEvaluator(t *testing.T) {
	random := rand.New(rand.NewSource(2))
	matched, refused := 0, 0
	for range 20_000 {
		var conditions []condition
		var texts []string
		var requirements []selector.Requirement
		for range random.Intn(4) {
			c := randomCondition(random)
			conditions, texts = append(conditions, c), append(texts, c.text(random))
			r, err := selector.NewRequirement(c.key, c.op, c.values)
			require.NoError(t, err)
			requirements = append(requirements, r)
		}
		text := strings.Join(texts, ",")
		parsed := parseLabels(t, text)
		require.Equal(t, selector.FromRequirements(requirements...).String(), parsed.String())
		for range 4 {
			labels := randomMap(random)
			want := allHold(conditions, labels)
			require.Equal(t, want, parsed.Matches(toSet(labels)), "%q on %v", text, labels)
			if want {
				matched++
			} else {
				refused++
			}
		}
	}
	require.Greater(t, matched, 10_000, "the property must not hold for want of cases")
	require.Greater(t, refused, 10_000, "the property must not hold for want of cases")
}

func TestProperty_FieldsAgreeWithNaiveEvaluator(t *testing.T) {
	random := rand.New(rand.NewSource(3))
	names := []string{"a", "b", "c.d"}
	value := func() string { return pick(random, "", "x", `\`, ",", "=", "x,y=z", " ", "!x") }
	for range 20_000 {
		var terms []condition
		var texts []string
		for range random.Intn(4) {
			c := condition{pick(random, names...), pick[selector.Operator](random, "=", "==", "!="), []string{value()}}
			terms = append(terms, c)
			texts = append(texts, c.key+string(c.op)+selector.EscapeValue(c.values[0]))
		}
		text := strings.Join(texts, ",")
		parsed := parseFields(t, text)
		bound, err := parsed.Bind(names)
		require.NoError(t, err)
		for range 4 {
			object := map[string]string{}
			for _, name := range names {
				object[name] = value()
			}
			want := allHold(terms, object)
			require.Equal(t, want, bound.Matches(func(i int) string { return object[names[i]] }), "%q on %v", text, object)
			for name, v := range object { // absent and empty are equal (FS5)
				if v == "" {
					delete(object, name)
				}
			}
			require.Equal(t, want, parsed.Matches(fieldSet(object).get), "%q on %v", text, object)
		}
	}
}
