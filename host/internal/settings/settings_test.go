package settings

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// values contains the variables that the flags of the test command set.
type values struct {
	listen   string
	readers  int
	wait     time.Duration
	private  bool
	origins  []string
	context  string
	upstream []string
}

func define(t *testing.T, args ...string) (*values, *Loader) {
	t.Helper()
	var v values
	flags := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	flags.StringVar(&v.listen, "listen", "default:1", "")
	flags.IntVar(&v.readers, "max-readers", 10, "")
	flags.DurationVar(&v.wait, "wait", time.Second, "")
	flags.BoolVar(&v.private, "private", false, "")
	flags.StringSliceVar(&v.origins, "allow-origin", []string{"https://default.example"}, "")
	flags.StringVar(&v.context, "context", "", "")
	flags.Lookup("wait").DefValue = "as long as necessary"
	flags.StringSliceVar(&v.upstream, "upstream", nil, "")
	MarkURLs(flags, "upstream")
	flags.Bool("help", false, "")
	l := New(flags)
	require.NoError(t, flags.Parse(args))
	return &v, l
}

func file(t *testing.T, content string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "settings.yaml")
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

func none(string) bool { return false }

func TestFlagsPrecedeVariablesAndVariablesPrecedeTheFile(t *testing.T) {
	path := file(t, "listen: file:1\nmax-readers: 20\nwait: 20s\n")
	environ := []string{"WATCHGLASS_LISTEN=environment:1", "WATCHGLASS_MAX_READERS=30", "HOME=/"}
	v, l := define(t, "--config", path, "--listen", "flag:1")
	require.NoError(t, l.Load(environ, none))
	assert.Equal(t, "flag:1", v.listen)
	assert.Equal(t, 30, v.readers)
	assert.Equal(t, 20*time.Second, v.wait)
	assert.False(t, v.private)
}

func TestListsReplaceTheDefault(t *testing.T) {
	v, l := define(t, "--config", file(t, `allow-origin: ["https://a.example", "https://b,c.example"]`))
	require.NoError(t, l.Load(nil, none))
	assert.Equal(t, []string{"https://a.example", "https://b,c.example"}, v.origins)
	assert.True(t, l.flags.Changed("allow-origin"))

	v, l = define(t, "--config", file(t, "allow-origin: https://a.example"))
	require.NoError(t, l.Load(nil, none))
	assert.Equal(t, []string{"https://a.example"}, v.origins)

	v, l = define(t)
	require.NoError(t, l.Load([]string{"WATCHGLASS_ALLOW_ORIGIN=https://a.example,https://b.example"}, none))
	assert.Equal(t, []string{"https://a.example", "https://b.example"}, v.origins)
}

func TestEveryKindOfValueCanComeFromTheFile(t *testing.T) {
	v, l := define(t)
	path := file(t, "# comment\nlisten: \"a: b\"\nmax-readers: 7\nwait: 1m30s\nprivate: true\ncontext: ''\nupstream: []\n")
	require.NoError(t, l.Load([]string{"WATCHGLASS_CONFIG=" + path}, none))
	assert.Equal(t, &values{listen: "a: b", readers: 7, wait: 90 * time.Second, private: true, origins: v.origins}, v)
}

func TestTheCommandLineSelectsTheFile(t *testing.T) {
	v, l := define(t, "--config", file(t, "max-readers: 1"))
	require.NoError(t, l.Load([]string{"WATCHGLASS_CONFIG=/no/such/file"}, none))
	assert.Equal(t, 1, v.readers)
}

func TestEmptyFilesAndVariablesSetNothing(t *testing.T) {
	for _, content := range []string{"", "# nothing\n", "---\n", "null\n"} {
		v, l := define(t, "--config", file(t, content))
		require.NoError(t, l.Load([]string{"WATCHGLASS_MAX_READERS="}, none), content)
		assert.Equal(t, 10, v.readers)
	}
}

func TestErrorsOfTheFileHaveItsLine(t *testing.T) {
	for content, message := range map[string]string{
		"listen: x\nmax-reader: 5\n":              `:2: unknown setting "max-reader": did you mean max-readers?`,
		"maxReaders: 5\n":                         `:1: unknown setting "maxReaders": did you mean max-readers?`,
		"something: 5\n":                          `:1: unknown setting "something": expected the name of a flag without dashes, such as log-level`,
		"\nmax-readers: many\n":                   `:2: invalid argument "many" for "--max-readers" flag`,
		"max-readers: 1\nmax-readers: 2\n":        `:2: max-readers is already set in line 1`,
		"max-readers: [1, 2]\n":                   `:1: --max-readers: expected one value, got a list`,
		"max-readers:\n":                          `:1: max-readers: expected a value, or a list of values`,
		"listen: {address: x}\n":                  `:1: listen: expected a value, or a list of values`,
		"allow-origin: [[x]]\n":                   `:1: allow-origin: expected a value, or a list of values`,
		"allow-origin: [null]\n":                  `:1: allow-origin: expected a value, or a list of values`,
		"? [a, b]\n: c\n":                         `:1: expected the name of a setting`,
		"listen: *x\n":                            `unknown anchor 'x' referenced`,
		"config: other.yaml\n":                    `:1: --config can be given on the command line only`,
		"print-config: true\n":                    `:1: --print-config can be given on the command line only`,
		"help: true\n":                            `:1: --help can be given on the command line only`,
		"- listen\n":                              `:1: expected settings such as max-readers: 500`,
		"listen: x\n---\nlisten: y\n":             `expected one YAML document`,
		"listen: [\n":                             `did not find expected node content`,
		"listen: \"" + strings.Repeat("x", 1<<20): `the file is larger than 1 MiB`,
	} {
		path := file(t, content)
		_, l := define(t, "--config", path)
		err := l.Load(nil, none)
		if assert.ErrorContains(t, err, message) {
			assert.Contains(t, err.Error(), path)
		}
	}
	_, l := define(t, "--config", "/no/such/file")
	assert.ErrorContains(t, l.Load(nil, none), "--config: open /no/such/file")
}

func TestUnknownVariablesAreErrors(t *testing.T) {
	for variable, message := range map[string]string{
		"WATCHGLASS_MAX_READER=5":    `WATCHGLASS_MAX_READER: unknown setting "max-reader": did you mean max-readers?`,
		"WATCHGLASS_SOMETHING=5":     `WATCHGLASS_SOMETHING: unknown setting "something"`,
		"WATCHGLASS_MAX_READERS=x":   `WATCHGLASS_MAX_READERS: invalid argument "x" for "--max-readers"`,
		"WATCHGLASS_PRINT_CONFIG=1":  `WATCHGLASS_PRINT_CONFIG: --print-config can be given on the command line only`,
		"WATCHGLASS_SERVICE_PORTS=1": `unknown setting "service-ports"`,
	} {
		_, l := define(t)
		assert.ErrorContains(t, l.Load([]string{variable}, none), message)
	}
}

func TestVariablesOfOtherProgramsAreIgnored(t *testing.T) {
	_, l := define(t)
	assert.NoError(t, l.Load([]string{
		"WATCHGLASS_SERVICE_HOST=10.0.0.1", "WATCHGLASS_SERVICE_PORT=80", "WATCHGLASS_SERVICE_PORT_KUBE_API=8081",
		"WATCHGLASS_PORT=tcp://10.0.0.1:80", "WATCHGLASS_PORT_80_TCP=tcp://10.0.0.1:80", "WATCHGLASS_PORT_80_TCP_ADDR=10.0.0.1",
		"WATCHGLASS_METRICS_SERVICE_HOST=10.0.0.1", "WATCHGLASS_METRICS_PORT=tcp://10.0.0.1:80",
		"WATCHGLASS_PODS=5", "OTHER_LISTEN=x",
	}, func(name string) bool { return name == "pods" }))
}

func TestPrintedSettingsHaveOriginsAndCanBeLoaded(t *testing.T) {
	path := file(t, "wait: 20s\ncontext: admin@cluster\nallow-origin: ['https://a.example', 'b']\n")
	v, l := define(t, "--config", path, "--max-readers", "5")
	require.NoError(t, l.Load([]string{"WATCHGLASS_PRIVATE=true"}, none))
	var printed strings.Builder
	require.NoError(t, l.Print(&printed))
	assert.Equal(t, `allow-origin: ["https://a.example","b"] # `+path+`:3
context: "admin@cluster" # `+path+`:2
# listen: "default:1" # default
max-readers: 5 # flag
private: true # WATCHGLASS_PRIVATE
# upstream: [] # default
wait: 20s # `+path+":1\n", printed.String())

	again, l := define(t, "--config", file(t, printed.String()))
	require.NoError(t, l.Load(nil, none))
	assert.Equal(t, v, again)

	_, byDefault := define(t)
	printed.Reset()
	require.NoError(t, byDefault.Print(&printed))
	assert.Contains(t, printed.String(), "# wait: as long as necessary # default\n", "the value is computed later")
	assert.Equal(t, "1s", Text(byDefault.flags.Lookup("wait")))
}

func TestPrintedSettingsHaveNoPasswords(t *testing.T) {
	v, l := define(t, "--upstream", "https://root:hunter2@a:1,root:hunter2@b:1", "--listen", "http://root:hunter2@c")
	require.NoError(t, l.Load(nil, none))
	var printed strings.Builder
	require.NoError(t, l.Print(&printed))
	assert.NotContains(t, printed.String(), "hunter2")
	assert.Contains(t, printed.String(), `upstream: ["https://xxxxx@a:1","xxxxx@b:1"] # flag`)
	assert.Contains(t, v.upstream, "https://root:hunter2@a:1", "the value itself stays")
}
