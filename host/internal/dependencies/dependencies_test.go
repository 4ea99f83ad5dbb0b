package main

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestLicensesAreRecognizedByTheirText(t *testing.T) {
	const bsd = "Redistribution and use in source\nand binary forms, with or without ... Redistributions in binary form must reproduce"
	for text, want := range map[string]string{
		"   Apache License\n   Version 2.0, January 2004\n":                                                                    "Apache-2.0",
		"Permission is hereby granted, free of charge, to any\nperson obtaining a copy ... THE SOFTWARE IS PROVIDED \"AS IS\"": "MIT",
		bsd: "BSD-2-Clause",
		bsd + " ... may be used to endorse or promote products":                                                               "BSD-3-Clause",
		"Permission to use, copy, modify, and distribute this software for any purpose with or without fee is hereby granted": "ISC",
		"GNU GENERAL PUBLIC LICENSE Version 3, 29 June 2007":                                                                  "",
		"Business Source License 1.1":                                                                                         "",
		"":                                                                                                                    "",
	} {
		assert.Equal(t, want, identify(text), text)
	}
}

func TestADependencyWithoutAnAllowedLicenseIsNamed(t *testing.T) {
	dir := t.TempDir()
	d := dependency{name: "example.com/m", version: "v1.0.0", dir: dir}
	assert.ErrorContains(t, d.read(), "example.com/m v1.0.0: found no allowed license")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "COPYING"), []byte("GNU GENERAL PUBLIC LICENSE"), 0o600))
	assert.ErrorContains(t, d.read(), "found no allowed license")
}

func TestTheListingHasEachTextOnce(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "LICENSE"), []byte("Apache License\r\nVersion 2.0, January 2004  \r\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "NOTICE"), []byte("by us\n"), 0o600))
	all := []dependency{{name: "a", version: "v1", dir: dir}, {name: "b", version: "v2", dir: dir}}
	for i := range all {
		require.NoError(t, all[i].read())
	}
	text := listing(all)
	assert.Contains(t, text, "| b | v2 | Apache-2.0 |\n")
	assert.Contains(t, text, "### a, b\n\n~~~text\nApache License\nVersion 2.0, January 2004\n~~~\n")
	assert.Equal(t, 1, strings.Count(text, "by us"))
}

func TestNpmPackagesForUsersNeedAnAllowedLicense(t *testing.T) {
	path := filepath.Join(t.TempDir(), "package-lock.json")
	check := func(packages string) error {
		require.NoError(t, os.WriteFile(path, []byte(`{"packages":{"":{"license":"x"},`+packages+`}}`), 0o600))
		return npmLicenses(path)
	}
	assert.NoError(t, check(`"node_modules/a":{"license":"MIT"},"node_modules/b":{"dev":true,"license":"GPL-3.0"}`))
	assert.ErrorContains(t, check(`"node_modules/c":{"license":"GPL-3.0"},"node_modules/d":{}`), `node_modules/c ("GPL-3.0"), node_modules/d ("")`)
	assert.Error(t, npmLicenses(filepath.Join(t.TempDir(), "none")))
}

func TestWithoutADatabaseTheChecksAreSkippedWithAReason(t *testing.T) {
	gone := httptest.NewServer(http.NotFoundHandler())
	var out strings.Builder
	t.Setenv("GOVULNDB", gone.URL)
	require.NoError(t, goVulnerabilities(t.Context(), &out))
	assert.Regexp(t, `^govulncheck: skipped, the database cannot be reached: .*404 Not Found\n$`, out.String())
	gone.Close()
	out.Reset()
	require.NoError(t, goVulnerabilities(t.Context(), &out))
	assert.Regexp(t, `^govulncheck: skipped, the database cannot be reached: .*refused\n$`, out.String())
}

func TestCompletedAuditIsEvaluated(t *testing.T) {
	failed := errors.New("exit status 1")
	var out strings.Builder
	require.NoError(t, judge("js", []byte(`{"message":"405 Method Not Allowed","error":{}}`), failed, &out))
	require.NoError(t, judge("js", nil, failed, &out))
	assert.Equal(t, "npm audit in js: skipped, the registry does not answer: 405 Method Not Allowed\n"+
		"npm audit in js: skipped, the registry does not answer: exit status 1\n", out.String())
	out.Reset()
	require.NoError(t, judge("js", []byte(`{"auditReportVersion":2,"vulnerabilities":{}}`), nil, &out))
	assert.Empty(t, out.String())
	assert.ErrorContains(t, judge("js", []byte(`{"auditReportVersion":2,"vulnerabilities":{"bad":{}}}`), failed, &out), `"bad"`)
}
