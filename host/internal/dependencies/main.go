// Command dependencies checks the project's dependencies. Every module that is linked
// into a product must have an allowed license and be listed in host/THIRD_PARTY.md.
// Neither Go modules nor npm packages may have known vulnerabilities. The check for
// vulnerabilities requires databases on the network. If the databases are unreachable, the check
// is skipped.
//
// Run it from the root of a checkout. With -write, it only rewrites
// host/THIRD_PARTY.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
)

const document = "host/THIRD_PARTY.md"

// packages are the directories with npm packages.
var packages = []string{"js", "examples/edge"}

func main() {
	write := flag.Bool("write", false, "write "+document+" and check nothing else")
	flag.Parse()
	if err := run(context.Background(), *write); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, write bool) error {
	errs := []error{licenses(document, !write)}
	if !write {
		for _, dir := range packages {
			errs = append(errs, npmLicenses(dir+"/package-lock.json"))
		}
		errs = append(errs, goVulnerabilities(ctx, os.Stdout))
		for _, dir := range packages {
			errs = append(errs, npmVulnerabilities(ctx, dir, os.Stdout))
		}
	}
	return errors.Join(errs...)
}
