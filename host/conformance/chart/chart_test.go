package chart

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/lint"
	"helm.sh/helm/v4/pkg/chart/v2/lint/support"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
)

var update = flag.Bool("update", false, "rewrite the golden files")

const directory = "../../../examples/deploy/chart"

// cases maps the name of each golden file to the chart values that it is rendered from.
var cases = map[string]string{
	"defaults":      ``,
	"all-resources": `{rbac: {allResources: true}, replicaCount: 3, nameOverride: wg}`,
	"token": `{auth: {mode: token-file, tokenSecret: readers}, kubeAPI: {enabled: false}, tlsSecret: tls,
  rbac: {extraResources: [{apiGroups: [cert-manager.io], resources: [certificates]}]}}`,
	"oidc": `{auth: {mode: oidc, oidc: {issuerURL: "https://issuer.example.com/realms/a", clientID: dashboard, usernameClaim: email, usernamePrefix: "-",
  groupsClaim: groups, groupsPrefix: "oidc:", requiredClaims: {hd: example.com, tenant: "1"}, signingAlgs: [RS256, ES256], caConfigMap: issuer-ca}}}`,
	"everything": `{fullnameOverride: glass, image: {digest: "sha256:` + strings.Repeat("0a", 32) + `"}, imagePullSecrets: [{name: pull}],
  serviceAccount: {annotations: {a: b}}, allowOrigins: ["https://dashboard.example.com", "*"], trustedProxies: [10.0.0.0/8],
  log: {level: debug, format: text}, preload: [pods, apps/v1/deployments], extraArgs: ["--audit-log=-"], service: {type: LoadBalancer, port: 8443, annotations: {c: d}},
  ingress: {enabled: true, className: nginx, host: watch.example.com, tlsSecret: ingress-tls, annotations: {e: f}},
  podDisruptionBudget: {minAvailable: 50%},
  networkPolicy: {enabled: true, ingressFrom: [{namespaceSelector: {matchLabels: {team: web}}}], apiServerPorts: [6443]},
  serviceMonitor: {enabled: true, tokenSecret: prometheus, labels: {release: prometheus}},
  prometheusRule: {enabled: true, labels: {release: prometheus}},
  metricsReaders: [{kind: ServiceAccount, name: prometheus, namespace: monitoring}],
  podAnnotations: {g: h}, podLabels: {i: j}, nodeSelector: {k: l}, tolerations: [{key: m, operator: Exists}],
  affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: []}}, priorityClassName: system-cluster-critical}`,
	"bare": `{preload: [], serviceAccount: {create: false}, rbac: {create: false}, podDisruptionBudget: {enabled: false}, replicaCount: 1}`,
}

func load(t *testing.T) *chart.Chart {
	t.Helper()
	c, err := loader.LoadDir(directory)
	require.NoError(t, err)
	return c
}

// render returns the output of the chart, by template.
func render(t *testing.T, values string) (map[string]string, error) {
	t.Helper()
	parsed, err := loader.LoadValues(strings.NewReader(values))
	require.NoError(t, err)
	c := load(t)
	c.Metadata.Version, c.Metadata.AppVersion = "0.2.0", "v0.2.0" // a release sets both
	options := common.ReleaseOptions{Name: "watchglass", Namespace: "watchglass", Revision: 1, IsInstall: true}
	merged, err := util.ToRenderValues(c, parsed, options, common.DefaultCapabilities)
	if err != nil {
		return nil, err
	}
	return engine.Engine{Strict: true}.RenderWithContext(t.Context(), c, merged)
}

// manifest joins the rendered templates in the order of their names, without the notes.
func manifest(rendered map[string]string) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(rendered)) {
		text := strings.TrimSpace(rendered[name])
		if strings.HasSuffix(name, ".yaml") && text != "" {
			b.WriteString("---\n# " + name + "\n" + text + "\n")
		}
	}
	return b.String()
}

func TestGoldenManifests(t *testing.T) {
	for name, values := range cases {
		t.Run(name, func(t *testing.T) {
			rendered, err := render(t, values)
			require.NoError(t, err)
			have := map[string]string{
				name + ".yaml":      manifest(rendered),
				name + ".notes.txt": rendered["watchglass/templates/NOTES.txt"],
			}
			for file, text := range have {
				path := filepath.Join("testdata", file)
				if *update {
					require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
				}
				want, err := os.ReadFile(path)
				require.NoError(t, err)
				require.Equal(t, string(want), text, "run go test -update, and review the change")
			}
		})
	}
}

func TestEveryGoldenFileHasACase(t *testing.T) {
	files, err := filepath.Glob("testdata/*")
	require.NoError(t, err)
	require.Len(t, files, 2*len(cases))
	for _, file := range files {
		name, _, _ := strings.Cut(filepath.Base(file), ".")
		require.Contains(t, cases, name)
	}
}

func TestWrongValuesAreRefused(t *testing.T) {
	for values, want := range map[string]string{
		`{replicas: 2}`:              "additional properties 'replicas' not allowed",
		`{replicaCount: 0}`:          "at '/replicaCount': minimum: got 0, want 1",
		`{auth: {mode: none}}`:       "at '/auth/mode': value must be one of 'kube', 'oidc', 'token-file'",
		`{auth: {mode: token-file}}`: "at '/auth/tokenSecret': minLength",
		`{auth: {mode: oidc}}`:       "at '/auth/oidc/issuerURL': minLength",
		`{auth: {mode: oidc, oidc: {issuerURL: "https://i"}}}`:                          "at '/auth/oidc/clientID': minLength",
		`{auth: {mode: oidc, oidc: {issuerURL: "http://i", clientID: c}}}`:              "at '/auth/oidc/issuerURL': 'http://i' does not match pattern",
		`{auth: {oidc: {signingAlgs: [HS256]}}}`:                                        "at '/auth/oidc/signingAlgs/0': value must be one of",
		`{auth: {oidc: {requiredClaims: {a: "1,2"}}}}`:                                  "at '/auth/oidc/requiredClaims/a': '1,2' does not match pattern",
		`{auth: {oidc: {issuer: a}}}`:                                                   "additional properties 'issuer' not allowed",
		`{image: {digest: latest}}`:                                                     "at '/image/digest': 'latest' does not match pattern",
		`{image: {repository: ""}}`:                                                     "at '/image/repository': minLength",
		`{service: {port: 70000}}`:                                                      "at '/service/port': maximum",
		`{service: {type: ExternalName}}`:                                               "at '/service/type': value must be one of",
		`{allowOrigins: [dashboard.example.com]}`:                                       "at '/allowOrigins/0': 'dashboard.example.com' does not match pattern",
		`{preload: ["a,b"]}`:                                                            "at '/preload/0': 'a,b' does not match pattern",
		`{extraArgs: [serve]}`:                                                          "at '/extraArgs/0': 'serve' does not match pattern",
		`{ingress: {enabled: true}}`:                                                    "at '/ingress/host': minLength",
		`{serviceMonitor: {enabled: true}}`:                                             "at '/serviceMonitor/tokenSecret': minLength",
		`{serviceMonitor: {interval: often}}`:                                           "at '/serviceMonitor/interval': 'often' does not match pattern",
		`{networkPolicy: {apiServerPorts: []}}`:                                         "at '/networkPolicy/apiServerPorts': minItems",
		`{rbac: {extraResources: [{resources: [a]}]}}`:                                  "missing property 'apiGroups'",
		`{rbac: {extraResources: [{apiGroups: [a], resources: [b], verbs: [delete]}]}}`: "additional properties 'verbs' not allowed",
		`{metricsReaders: [{kind: Pod, name: a}]}`:                                      "at '/metricsReaders/0/kind': value must be one of",
		`{podLabels: {a: 1}}`:                                                           "at '/podLabels/a': got number, want string",
		`{log: {level: trace}}`:                                                         "at '/log/level': value must be one of",
	} {
		_, err := render(t, values)
		require.ErrorContains(t, err, want, values)
	}
}

func TestEveryValueIsInTheSchema(t *testing.T) {
	c := load(t)
	require.NotEmpty(t, c.Values)
	require.NoError(t, util.ValidateAgainstSchema(c, c.Values))
}

func TestHelmLintPasses(t *testing.T) {
	result := lint.RunAll(directory, nil, "watchglass")
	for _, m := range result.Messages {
		require.Less(t, m.Severity, support.WarningSev, "%v", m)
	}
}

// TestResourcesAreTheDefaultOfTheSizingTable compares the chart, the plain manifests and
// the table in the README.
func TestResourcesAreTheDefaultOfTheSizingTable(t *testing.T) {
	resources := load(t).Values["resources"].(map[string]any)
	requests, limits := resources["requests"].(map[string]any), resources["limits"].(map[string]any)
	require.NotContains(t, limits, "cpu", "throttling delays every reader")
	readme, err := os.ReadFile("../../../examples/deploy/README.md")
	require.NoError(t, err)
	_, table, found := strings.Cut(string(readme), "\n## Sizing\n")
	require.True(t, found)
	first := strings.Split(strings.TrimSpace(table), "\n")[2]
	require.Contains(t, first, fmt.Sprintf("| %v | %v | %v |", requests["cpu"], requests["memory"], limits["memory"]))
	base, err := os.ReadFile("../../../examples/deploy/base/deployment.yaml")
	require.NoError(t, err)
	require.Regexp(t, fmt.Sprintf(`requests:\s+cpu: %v\s+memory: %v\s+limits:\s+memory: %v\n`, requests["cpu"], requests["memory"], limits["memory"]), string(base))
}

// TestPlainManifestsRollOutAsTheChartDoes checks that the plain manifests and the chart
// have the settings that let readers resume without a new list after a rollout.
func TestPlainManifestsRollOutAsTheChartDoes(t *testing.T) {
	rendered, err := render(t, "")
	require.NoError(t, err)
	base, err := os.ReadFile("../../../examples/deploy/base/deployment.yaml")
	require.NoError(t, err)
	for _, manifest := range []string{rendered["watchglass/templates/deployment.yaml"], string(base)} {
		require.Contains(t, manifest, "  minReadySeconds: 10\n  strategy:\n    rollingUpdate:\n      maxUnavailable: 0\n      maxSurge: 100%\n")
		require.Regexp(t, `\n\s+- "?--preload=pods"?\n`, manifest)
		require.Contains(t, manifest, "terminationGracePeriodSeconds: 30", "longer than --shutdown-delay and --drain-timeout")
	}
}
