package monitoring

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// target contains the labels that Prometheus and its operator add to every series.
var target = []string{"job", "instance", "namespace", "pod", "service"}

// series contains the label sets of all series of a connector, by the name of the metric.
type series map[string][]labels.Labels

func parseSeries(t *testing.T, text string) series {
	t.Helper()
	all := series{}
	p := parser.NewParser(parser.Options{})
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		metric, err := p.ParseMetric(line[:strings.LastIndexByte(line, ' ')])
		require.NoError(t, err, line)
		name := metric.Get(labels.MetricName)
		all[name] = append(all[name], metric)
	}
	return all
}

// has reports whether a series of the metric has the label.
func (s series) has(metric, label string) bool {
	return slices.ContainsFunc(s[metric], func(l labels.Labels) bool { return l.Has(label) })
}

// check requires that the connector has every metric that a query selects, with the labels
// that the query uses. The slice shown contains further labels that must exist, such as
// labels in a legend.
func (s series) check(t *testing.T, query string, shown []string) {
	t.Helper()
	expression, err := parser.NewParser(parser.Options{}).ParseExpr(query)
	require.NoError(t, err, query)
	metrics := map[string]bool{}
	used := slices.Clone(shown)
	parser.Inspect(expression, func(node parser.Node, _ []parser.Node) error {
		switch node := node.(type) {
		case *parser.VectorSelector:
			if node.Name == "up" || node.Name == "watchglass_edge_up" { // metrics of Prometheus itself and of the edge
				return nil
			}
			metrics[node.Name] = true
			s.checkSelector(t, query, node)
		case *parser.AggregateExpr:
			used = append(used, node.Grouping...)
		case *parser.BinaryExpr:
			if node.VectorMatching != nil {
				used = append(used, node.VectorMatching.MatchingLabels...)
			}
		}
		return nil
	})
	require.NotEmpty(t, metrics, query)
	for _, label := range used {
		known := slices.Contains(target, label) || slices.ContainsFunc(slices.Collect(maps.Keys(metrics)), func(m string) bool { return s.has(m, label) })
		assert.True(t, known, "no metric has the label %s: %s", label, query)
	}
}

func (s series) checkSelector(t *testing.T, query string, selector *parser.VectorSelector) {
	t.Helper()
	if !assert.NotEmpty(t, s[selector.Name], "no metric %s: %s", selector.Name, query) {
		return
	}
	for _, m := range selector.LabelMatchers {
		if m.Name == labels.MetricName || slices.Contains(target, m.Name) {
			continue
		}
		assert.True(t, s.has(selector.Name, m.Name), "%s has no label %s: %s", selector.Name, m.Name, query)
		if m.Type == labels.MatchEqual {
			assert.True(t, slices.ContainsFunc(s[selector.Name], func(l labels.Labels) bool { return m.Matches(l.Get(m.Name)) }),
				"%s never has %s: %s", selector.Name, m, query)
		}
	}
}

func TestAlertsUseMetricsOfTheConnector(t *testing.T) {
	exported := parseSeries(t, scrape(t))
	for _, rule := range rules(t) {
		exported.check(t, rule.Expr, nil)
	}
}

func TestDashboardUsesMetricsOfTheConnector(t *testing.T) {
	var file struct {
		Panels []struct {
			Type, Title string
			Targets     []struct {
				Expr         string
				LegendFormat string `yaml:"legendFormat"`
			}
		}
		Templating struct {
			List []struct{ Name, Type, Definition string }
		}
	}
	load(t, dashboard, &file)
	exported := parseSeries(t, scrape(t))
	replacements := []string{"$__rate_interval", "5m"}
	for _, variable := range file.Templating.List {
		replacements = append(replacements, "$"+variable.Name, ".+")
		if variable.Type == "query" {
			parts := regexp.MustCompile(`^label_values\((.+), (\w+)\)$`).FindStringSubmatch(variable.Definition)
			require.NotNil(t, parts, variable.Definition)
			exported.check(t, strings.NewReplacer("$job", ".+").Replace(parts[1]), parts[2:])
		}
	}
	variables := strings.NewReplacer(replacements...)
	panels := 0
	for _, panel := range file.Panels {
		if panel.Type == "row" {
			continue
		}
		panels++
		assert.NotEmpty(t, panel.Targets, panel.Title)
		for _, query := range panel.Targets {
			var shown []string
			for _, label := range regexp.MustCompile(`{{(\w+)}}`).FindAllStringSubmatch(query.LegendFormat, -1) {
				shown = append(shown, label[1])
			}
			exported.check(t, variables.Replace(query.Expr), shown)
		}
	}
	assert.Greater(t, panels, 20)
}
