package monitoring

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

const (
	alerts    = "../../../examples/deploy/monitoring/alerts.yaml"
	dashboard = "../../../examples/deploy/monitoring/dashboard.json"
	cases     = "testdata/alerts.yaml"
)

// promtool builds the command promtool, without service discovery, and runs it.
func promtool(t *testing.T, args ...string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "promtool")
	built, err := exec.CommandContext(t.Context(), "go", "build", "-tags", "remove_all_sd", "-o", path, "github.com/prometheus/prometheus/cmd/promtool").CombinedOutput()
	require.NoError(t, err, "%s", built)
	out, err := exec.CommandContext(t.Context(), path, args...).CombinedOutput()
	require.NoError(t, err, "%s", out)
}

func TestRulesAreValid(t *testing.T) {
	promtool(t, "check", "rules", "--lint=all", "--lint-fatal", alerts)
}

// The file testdata/alerts.yaml contains series and the alerts that must fire for them.
func TestAlertsFire(t *testing.T) {
	promtool(t, "test", "rules", cases)
}

type rule struct {
	Alert string
	Expr  string
}

func rules(t *testing.T) (all []rule) {
	t.Helper()
	var file struct{ Groups []struct{ Rules []rule } }
	load(t, alerts, &file)
	for _, group := range file.Groups {
		all = append(all, group.Rules...)
	}
	require.NotEmpty(t, all)
	return all
}

func load(t *testing.T, path string, to any) {
	t.Helper()
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, yaml.Unmarshal(content, to)) // JSON is valid YAML
}

// Each alert has a case in which it fires and a case in which it does not fire.
func TestEachAlertHasCases(t *testing.T) {
	var file struct {
		Tests []struct {
			AlertRuleTest []struct {
				Alertname string
				ExpAlerts []any `yaml:"exp_alerts"`
			} `yaml:"alert_rule_test"`
		}
	}
	load(t, cases, &file)
	fires, quiet := map[string]bool{}, map[string]bool{}
	for _, test := range file.Tests {
		for _, one := range test.AlertRuleTest {
			if len(one.ExpAlerts) > 0 {
				fires[one.Alertname] = true
			} else {
				quiet[one.Alertname] = true
			}
		}
	}
	for _, rule := range rules(t) {
		assert.True(t, fires[rule.Alert], "%s does not fire in any case", rule.Alert)
		assert.True(t, quiet[rule.Alert], "%s fires in every case", rule.Alert)
	}
}
