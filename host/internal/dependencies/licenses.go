package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// license identifies a license by phrases. The text of the license must contain all
// phrases, after each run of whitespace is replaced by one space.
type license struct {
	id      string
	phrases []string
}

// recognized contains the allowed licenses of a dependency. The first license that matches
// a text wins.
var recognized = []license{
	{"Apache-2.0", []string{"Apache License", "Version 2.0, January 2004"}},
	{"MIT", []string{"Permission is hereby granted, free of charge, to any person obtaining a copy", "THE SOFTWARE IS PROVIDED \"AS IS\""}},
	{"BSD-3-Clause", []string{"Redistribution and use in source and binary forms", "Redistributions in binary form must", "may be used to endorse or promote products"}},
	{"BSD-2-Clause", []string{"Redistribution and use in source and binary forms", "Redistributions in binary form must"}},
	{"ISC", []string{"Permission to use, copy, modify, and", "distribute this software for any purpose with or without fee is hereby granted"}},
}

// identify returns the SPDX identifier of the license in text, or "" if the license is not
// allowed.
func identify(text string) string {
	folded := strings.Join(strings.Fields(text), " ")
	for _, l := range recognized {
		if !slices.ContainsFunc(l.phrases, func(phrase string) bool { return !strings.Contains(folded, phrase) }) {
			return l.id
		}
	}
	return ""
}

// dependency is a Go module that is linked into a distributed program.
type dependency struct {
	name, version, dir string
	license            string
	texts              []string // contents of the module's license and notice files
}

// products contains the distributed programs: the command for each operating system, and
// the WebAssembly modules for browsers and for the edge.
var products = []struct{ goos, goarch, pkg string }{
	{"linux", "amd64", "./host/cmd/watchglass"},
	{"darwin", "arm64", "./host/cmd/watchglass"},
	{"windows", "amd64", "./host/cmd/watchglass"},
	{"wasip1", "wasm", "./wasm/guest"},
	{"js", "wasm", "./wasm/edge"},
}

// modules returns the modules that are linked into the products, sorted by name.
func modules() ([]dependency, error) {
	found := map[string]dependency{}
	for _, p := range products {
		cmd := exec.Command("go", "list", "-deps", "-json=Module", p.pkg)
		cmd.Env, cmd.Stderr = append(os.Environ(), "GOOS="+p.goos, "GOARCH="+p.goarch), os.Stderr
		out, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("go list -deps %s: %w", p.pkg, err)
		}
		for decoder := json.NewDecoder(bytes.NewReader(out)); decoder.More(); {
			var pkg struct {
				Module *struct {
					Path, Version, Dir string
					Main               bool
				}
			}
			if err := decoder.Decode(&pkg); err != nil {
				return nil, fmt.Errorf("go list -deps %s: %w", p.pkg, err)
			}
			if m := pkg.Module; m != nil && !m.Main {
				found[m.Path] = dependency{name: m.Path, version: m.Version, dir: m.Dir}
			}
		}
	}
	all := make([]dependency, 0, len(found))
	for _, d := range found {
		all = append(all, d)
	}
	slices.SortFunc(all, func(a, b dependency) int { return strings.Compare(a.name, b.name) })
	return all, nil
}

// read sets the license and the texts of a dependency from the files in its directory.
func (d *dependency) read() error {
	entries, err := os.ReadDir(d.dir)
	if err != nil {
		return fmt.Errorf("%s: %w", d.name, err)
	}
	for _, e := range entries {
		name := strings.ToUpper(e.Name())
		isLicense := strings.HasPrefix(name, "LICENSE") || strings.HasPrefix(name, "LICENCE") || strings.HasPrefix(name, "COPYING")
		if e.IsDir() || !isLicense && !strings.HasPrefix(name, "NOTICE") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(d.dir, e.Name()))
		if err != nil {
			return fmt.Errorf("%s: %w", d.name, err)
		}
		d.texts = append(d.texts, normalize(string(text)))
		if isLicense && d.license == "" {
			d.license = identify(string(text))
		}
	}
	if d.license == "" {
		return fmt.Errorf("%s %s: found no allowed license in its LICENSE files; allowed are %s", d.name, d.version, allowed())
	}
	return nil
}

func allowed() string {
	ids := make([]string, len(recognized))
	for i, l := range recognized {
		ids[i] = l.id
	}
	return strings.Join(ids, ", ")
}

// normalize returns a text with uniform line endings, without trailing whitespace in its lines.
func normalize(text string) string {
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " \t\f")
	}
	return strings.Trim(strings.Join(lines, "\n"), "\n") + "\n"
}

// listing returns the document with every module, its license and its license texts.
func listing(all []dependency) string {
	var b strings.Builder
	b.WriteString("# Third-party software\n\n" +
		"The watchglass binary, the WebAssembly modules and the edge worker contain the Go modules below, and Go's standard\n" +
		"library. The npm package has no dependencies. `make licenses` writes this file.\n\n" +
		"| Module | Version | License |\n|---|---|---|\n")
	users := map[string][]string{}
	var texts []string
	for _, d := range all {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", d.name, d.version, d.license)
		for _, text := range d.texts {
			if users[text] == nil {
				texts = append(texts, text)
			}
			users[text] = append(users[text], d.name)
		}
	}
	b.WriteString("\n## Licenses and notices\n")
	for _, text := range texts {
		fmt.Fprintf(&b, "\n### %s\n\n~~~text\n%s~~~\n", strings.Join(users[text], ", "), text)
	}
	return b.String()
}

// licenses writes the listing to a file. If check is set, it writes nothing, and returns an
// error if the file differs from the listing.
func licenses(path string, check bool) error {
	all, err := modules()
	if err != nil {
		return err
	}
	var errs []error
	for i := range all {
		errs = append(errs, all[i].read())
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	goLicense, err := standardLibrary(all)
	if err != nil {
		return err
	}
	want := listing(append([]dependency{goLicense}, all...))
	if !check {
		return os.WriteFile(path, []byte(want), 0o644)
	}
	have, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if string(have) != want {
		return fmt.Errorf("%s does not list the present dependencies: run make licenses, and review the change", path)
	}
	return nil
}

// standardLibrary returns the Go standard library as a dependency. The license text comes
// from golang.org/x/sys, which has the same license. The version is omitted, because it
// depends on the toolchain.
func standardLibrary(all []dependency) (dependency, error) {
	const module = "golang.org/x/sys"
	i := slices.IndexFunc(all, func(d dependency) bool { return d.name == module })
	if i < 0 {
		return dependency{}, errors.New(module + " is not among the dependencies: expected it for the license of Go")
	}
	return dependency{name: "std", version: "of Go", license: all[i].license, texts: all[i].texts}, nil
}
