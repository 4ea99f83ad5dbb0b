package metrics_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/host/limit"
)

const deploy = "../../examples/deploy"

func read(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(content)
}

// matches returns the first group of each match.
func matches(expression, text string) (found []string) {
	for _, match := range regexp.MustCompile(expression).FindAllStringSubmatch(text, -1) {
		found = append(found, match[1])
	}
	return found
}

func TestEachAlertHasASectionInTheRunbook(t *testing.T) {
	var rules struct {
		Groups []struct {
			Rules []struct {
				Alert       string
				Expr        string
				Labels      map[string]string
				Annotations map[string]string
			}
		}
	}
	require.NoError(t, yaml.Unmarshal([]byte(read(t, deploy+"/monitoring/alerts.yaml")), &rules))
	runbook := read(t, deploy+"/RUNBOOK.md")
	var alerts []string
	for _, group := range rules.Groups {
		for _, rule := range group.Rules {
			alerts = append(alerts, rule.Alert)
			assert.Equal(t, "https://github.com/watchglass/watchglass/blob/main/examples/deploy/RUNBOOK.md#"+strings.ToLower(rule.Alert), rule.Annotations["runbook_url"])
			assert.Contains(t, []string{"warning", "critical"}, rule.Labels["severity"])
			assert.NotEmpty(t, rule.Annotations["summary"])
			assert.NotEmpty(t, rule.Annotations["description"])
		}
	}
	require.NotEmpty(t, alerts)
	assert.Equal(t, alerts, matches(`(?m)^### (Watchglass\w+)$`, runbook), "in the order of the file")
	for _, alert := range alerts {
		_, section, _ := strings.Cut(runbook, "### "+alert+"\n")
		section, _, _ = strings.Cut(section, "\n#")
		assert.Contains(t, section, "**Cause**: ", alert)
		assert.Contains(t, section, "**Remedy**: ", alert)
	}
}

// The chart contains a copy of the alerts, because it cannot include files outside of
// its directory.
func TestChartHasTheSameAlerts(t *testing.T) {
	assert.Equal(t, read(t, deploy+"/monitoring/alerts.yaml"), read(t, deploy+"/chart/files/alerts.yaml"), "copy monitoring/alerts.yaml to chart/files")
}

func TestAlertsAndDashboardUseMetricsThatExist(t *testing.T) {
	exist := map[string]bool{}
	for _, name := range matches(`(?m)^# TYPE (\w+) `, scrape(t, everything(t))) {
		exist[name] = true
	}
	exist["watchglass_audit_failures_total"] = true // served only with an audit log
	exist["watchglass_edge_up"] = true              // served only by an edge
	for _, file := range []string{"alerts.yaml", "dashboard.json"} {
		used := matches(`\b((?:watchglass|process|go)_\w+)\b`, read(t, deploy+"/monitoring/"+file))
		require.NotEmpty(t, used)
		for _, name := range used {
			histogram := regexp.MustCompile(`_(bucket|sum|count)$`).ReplaceAllString(name, "")
			assert.True(t, exist[name] || exist[histogram], "%s: %s", file, name)
		}
	}
}

func TestRunbookExplainsEachErrorOfReaders(t *testing.T) {
	runbook := read(t, deploy+"/RUNBOOK.md")
	_, rows, _ := strings.Cut(runbook, "## Errors of readers")
	reasons := matches(`Reason\w+ +Reason = "(\w+)"|Reason\w+ += "(\w+)"`, read(t, "../../core/api/status.go"))
	require.Greater(t, len(reasons), 10)
	for _, reason := range reasons {
		assert.Regexp(t, `(?m)^\| [45]\d\d.* `+"`"+reason+"` ", rows)
	}
	for state := api.StateConnecting; state.String() != ""; state++ {
		assert.Contains(t, rows, "\n| `"+state.String()+"` | ")
	}
	_, limits, _ := strings.Cut(rows, "## Limits")
	documented := matches("(?:^|[|,]) ?`([a-z-]+)`", strings.Join(matches(`(?m)^(\| [^|]+\|)`, limits), "\n"))
	var refusing []string
	for _, l := range limit.All() {
		if l.Code != 0 && l.Counted() {
			refusing = append(refusing, l.Name)
		}
	}
	assert.ElementsMatch(t, refusing, documented)
}

// Each log line that the runbook quotes occurs in the Go source of host.
func TestRunbookQuotesLogLines(t *testing.T) {
	var source strings.Builder
	require.NoError(t, filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
			source.WriteString(read(t, path))
		}
		return err
	}))
	lines := matches("log lines? `([^`]+)`", strings.ReplaceAll(strings.ReplaceAll(read(t, deploy+"/RUNBOOK.md"), "\n", " "), "  ", " "))
	require.Len(t, lines, 6)
	for _, line := range lines {
		assert.Contains(t, source.String(), line)
	}
}
