package main

import (
	"net/http"
	"regexp"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// serving lists the commands that accept settings from the environment and a file.
var serving = []string{"serve", "demo", "push"}

func TestSettingsComeFromFlagsVariablesAndTheFile(t *testing.T) {
	store := startEtcd(t)
	t.Setenv("WATCHGLASS_MAX_READERS", "7")
	t.Setenv("WATCHGLASS_LISTEN", "127.0.0.1:99999")
	t.Setenv("WATCHGLASS_ETCD_ENDPOINTS", store.Endpoints()[0])
	p := startProcess(t, "serve", "--listen", "127.0.0.1:0", "--config", file(t, "settings.yaml", "max-readers: 8\nmax-requests: 9\nlog-format: json\n"))
	code, metrics := get(t, p.url()+"/metrics")
	assert.Equal(t, http.StatusOK, code)
	assert.Contains(t, metrics, `watchglass_limit{limit="max-readers"} 7`)
	assert.Contains(t, metrics, `watchglass_limit{limit="max-requests"} 9`)
}

func TestPrintConfigNamesOrigins(t *testing.T) {
	path := file(t, "settings.yaml", "trusted-proxy: [10.0.0.0/8, '::1']\nmax-object-bytes: 2MiB\n")
	t.Setenv("WATCHGLASS_CONFIG", path)
	t.Setenv("WATCHGLASS_AUTH", "none")
	t.Setenv("WATCHGLASS_PODS", "5") // a variable of demo
	t.Setenv("WATCHGLASS_KEY", "secret of the edge")
	t.Setenv("WATCHGLASS_SERVICE_HOST", "10.0.0.1")
	p := startProcess(t, "serve", "--print-config", "--etcd-endpoints", "https://root:hunter2@etcd:2379")
	<-p.ended
	assert.NoError(t, p.wait, p.log)
	for _, line := range []string{
		`auth: "none" # WATCHGLASS_AUTH`,
		`etcd-endpoints: ["https://xxxxx@etcd:2379"] # flag`,
		`max-object-bytes: 2MiB # ` + path + `:2`,
		`trusted-proxy: ["10.0.0.0/8","::1/128"] # ` + path + `:1`,
		`# listen: "127.0.0.1:8080" # default`,
		`# max-memory: 90% of the memory limit of the cgroup, or of the machine's memory # default`,
		`# shutdown-delay: 5s # default`,
	} {
		assert.Contains(t, p.out.String(), line+"\n")
	}
	assert.NotContains(t, p.out.String(), "hunter2")
	assert.NotContains(t, p.out.String(), "secret of the edge")

	c := start(t, "serve", "--print-config", "--config", file(t, "printed.yaml", p.out.String()))
	<-c.ended
	assert.Zero(t, c.code, c.log)
	origins := regexp.MustCompile(` # .*`)
	assert.Equal(t, origins.ReplaceAllString(p.out.String(), ""), origins.ReplaceAllString(c.out.String(), ""), "the output is a file of settings")
}

func TestInvalidSettingsAreReported(t *testing.T) {
	for content, message := range map[string]string{
		"max-reader: 5":          `:1: unknown setting "max-reader": did you mean max-readers?`,
		"max-readers: 0":         `:1: --max-readers "0": expected a whole number from 1 to`,
		"metrics-on-admin: soon": `:1: --metrics-on-admin "soon": expected true or false`,
		"trusted-proxy: [proxy]": `:1: --trusted-proxy "proxy": expected an address such as 10.0.0.1`,
		"pods: 5":                `:1: unknown setting "pods"`,
	} {
		path := file(t, "settings.yaml", content)
		c := start(t, "serve", "--config", path)
		<-c.ended
		assert.Equal(t, 1, c.code)
		assert.Contains(t, c.log.String(), path+message)
		assert.Contains(t, c.log.String(), "See 'watchglass serve --help' for usage")
	}
	t.Setenv("WATCHGLASS_MAX_REEDERS", "5")
	for _, args := range [][]string{{"serve"}, {"demo"}, {"push", "ws://x"}} {
		c := start(t, args...)
		<-c.ended
		assert.Equal(t, 1, c.code)
		assert.Contains(t, c.log.String(), `WATCHGLASS_MAX_REEDERS: unknown setting "max-reeders": did you mean max-readers?`)
	}
	c := start(t, "version")
	<-c.ended
	assert.Zero(t, c.code, "other commands have no settings")
}

// Flags for secrets accept only the names of files, because a secret in a flag would be
// visible in the list of processes.
func TestSettingsNameFilesForSecrets(t *testing.T) {
	secret := regexp.MustCompile(`token|secret|password|credential`)
	for _, name := range serving {
		cmd, _, err := newRootCommand().Find([]string{name})
		require.NoError(t, err)
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Value.Type() == "string" && secret.MatchString(f.Name) {
				assert.Regexp(t, "-file$", f.Name)
			}
		})
	}
}
