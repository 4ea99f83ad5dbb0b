package settings

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const prefix = "WATCHGLASS_"

// These constants are the flags of this package and of cobra that only the command line can
// set. As an exception, a variable can also set --config.
const (
	fileFlag  = "config"
	printFlag = "print-config"
	helpFlag  = "help"
)

// serviceLink matches the variables that Kubernetes sets in pods for Services named
// watchglass or watchglass-NAME. They are not settings.
var serviceLink = regexp.MustCompile(`^WATCHGLASS_(.+_)?(SERVICE_HOST|SERVICE_PORT(_.+)?|PORT(_\d+_(TCP|UDP|SCTP)(_(PORT|PROTO|ADDR))?)?)$`)

// Loader sets the flags of one command from the environment and a file.
type Loader struct {
	flags   *pflag.FlagSet
	origins map[string]string // origin of each setting that is not a default, by the name of the flag

	file  string
	print bool
}

// New returns a Loader for the flags, and adds --config and --print-config to them.
func New(flags *pflag.FlagSet) *Loader {
	l := &Loader{flags: flags, origins: map[string]string{}}
	flags.StringVar(&l.file, fileFlag, "", "YAML file with settings, which are named as the flags without dashes: max-readers: 500")
	flags.BoolVar(&l.print, printFlag, false, "print the settings with the origin of each, and exit")
	return l
}

// Error reports a setting in the environment or the file for which no flag exists, or whose
// value the flag does not accept.
type Error struct {
	Origin string // the variable, or the file and line
	Err    error
}

// Error implements error.
func (e *Error) Error() string { return e.Origin + ": " + e.Err.Error() }

// Unwrap returns the error of the flag.
func (e *Error) Unwrap() error { return e.Err }

// Load sets the flags for which the environment or the file has a setting, except the
// flags that the command line has set. The variables in environ have the format of
// os.Environ. If a variable has no flag and the function "foreign" returns true for
// its name, Load ignores the variable, because it belongs to another program.
func (l *Loader) Load(environ []string, foreign func(name string) bool) error {
	l.settings(func(f *pflag.Flag) {
		if f.Changed {
			l.origins[f.Name] = "flag"
		}
	})
	if err := l.loadEnvironment(environ, foreign); err != nil {
		return err
	}
	if l.file == "" {
		return nil
	}
	content, err := read(l.file)
	if err != nil {
		return fmt.Errorf("--%s: %w", fileFlag, err)
	}
	settings, err := parse(l.file, content)
	if err != nil {
		return err
	}
	for _, s := range settings {
		if err := l.set(s); err != nil {
			return &Error{s.origin, err}
		}
	}
	return nil
}

func (l *Loader) loadEnvironment(environ []string, foreign func(name string) bool) error {
	environ = slices.Sorted(slices.Values(environ)) // so that errors are deterministic
	for _, variable := range environ {
		key, value, _ := strings.Cut(variable, "=")
		name, ours := strings.CutPrefix(key, prefix)
		if !ours || value == "" {
			continue
		}
		name = strings.ReplaceAll(strings.ToLower(name), "_", "-")
		if name == fileFlag {
			if !l.flags.Changed(fileFlag) {
				l.file = value
			}
			continue
		}
		if l.flags.Lookup(name) == nil && (serviceLink.MatchString(key) || foreign(name)) {
			continue
		}
		if err := l.set(setting{name: name, values: []string{value}, origin: key}); err != nil {
			return &Error{key, err}
		}
	}
	return nil
}

// setting is a key of the file or an environment variable, with its value or list of
// values.
type setting struct {
	name   string
	values []string
	list   bool
	origin string
}

// set sets a flag, unless a source that takes precedence has already set it.
func (l *Loader) set(s setting) error {
	flag := l.flags.Lookup(s.name)
	switch {
	case flag == nil:
		return l.unknown(s.name)
	case reserved(s.name):
		return fmt.Errorf("--%s can be given on the command line only", s.name)
	case l.origins[s.name] != "":
		return nil
	}
	l.origins[s.name] = s.origin
	if !s.list {
		return l.flags.Set(s.name, s.values[0])
	}
	many, ok := flag.Value.(pflag.SliceValue)
	if !ok {
		return fmt.Errorf("--%s: expected one value, got a list", s.name)
	}
	if err := many.Replace(s.values); err != nil {
		return fmt.Errorf("--%s %w", s.name, err)
	}
	flag.Changed = true
	return nil
}

// unknown returns an error for a name without a flag. The error suggests similar names of
// flags.
func (l *Loader) unknown(name string) error {
	names := &cobra.Command{SuggestionsMinimumDistance: 2} // cobra suggests commands, not flags
	l.settings(func(f *pflag.Flag) {
		names.AddCommand(&cobra.Command{Use: f.Name, Run: func(*cobra.Command, []string) {}})
	})
	if near := names.SuggestionsFor(name); len(near) > 0 {
		return fmt.Errorf("unknown setting %q: did you mean %s?", name, strings.Join(near, " or "))
	}
	return fmt.Errorf("unknown setting %q: expected the name of a flag without dashes, such as log-level", name)
}

// settings calls yield for every flag that can be configured.
func (l *Loader) settings(yield func(*pflag.Flag)) {
	l.flags.VisitAll(func(f *pflag.Flag) {
		if !reserved(f.Name) {
			yield(f)
		}
	})
}

func reserved(name string) bool { return name == fileFlag || name == printFlag || name == helpFlag }
