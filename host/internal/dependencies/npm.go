package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
)

// npmAllowed are the allowed licenses of npm packages.
var npmAllowed = []string{"Apache-2.0", "MIT", "BSD-3-Clause", "BSD-2-Clause", "ISC", "0BSD"}

// npmLicenses returns an error if a package in a lock file has no allowed license. It
// ignores development dependencies.
func npmLicenses(lockFile string) error {
	text, err := os.ReadFile(lockFile)
	if err != nil {
		return err
	}
	var lock struct {
		Packages map[string]struct {
			Dev     bool
			License string
		}
	}
	if err := json.Unmarshal(text, &lock); err != nil {
		return fmt.Errorf("%s: %w", lockFile, err)
	}
	var wrong []string
	for path, p := range lock.Packages {
		if path != "" && !p.Dev && !slices.Contains(npmAllowed, p.License) {
			wrong = append(wrong, fmt.Sprintf("%s (%q)", path, p.License))
		}
	}
	if len(wrong) == 0 {
		return nil
	}
	slices.Sort(wrong)
	return fmt.Errorf("%s: packages without an allowed license: %s; allowed are %s", lockFile, strings.Join(wrong, ", "), strings.Join(npmAllowed, ", "))
}
