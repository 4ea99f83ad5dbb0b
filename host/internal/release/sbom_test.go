package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
	spdxjson "github.com/spdx/tools-golang/json"
	"github.com/spdx/tools-golang/spdxlib"
	"github.com/stretchr/testify/require"
)

const listing = `# Third-party software

| Module | Version | License |
|---|---|---|
| std | of Go | BSD-3-Clause |
| example.com/b | v1.0.0 | MIT |
| example.com/a/v2 | v2.1.0-20260102030405-abcdefabcdef | Apache-2.0 |
`

func TestTheListingOfLicensesIsRead(t *testing.T) {
	require.Equal(t, []module{
		{"std", "of Go", "BSD-3-Clause"},
		{"example.com/b", "v1.0.0", "MIT"},
		{"example.com/a/v2", "v2.1.0-20260102030405-abcdefabcdef", "Apache-2.0"},
	}, listed(listing))

	document, err := os.ReadFile("../../THIRD_PARTY.md")
	require.NoError(t, err)
	modules := listed(string(document))
	require.Greater(t, len(modules), 50)
	for _, m := range modules {
		require.NotEmpty(t, m.license, m.path)
	}
}

func TestABinaryWithAnUnlistedModuleIsRefused(t *testing.T) {
	self, err := os.Executable() // the test binary contains testify and other modules
	require.NoError(t, err)
	_, err = linked([]binary{{platform{"linux", "amd64"}, self}}, listed(listing))
	require.ErrorContains(t, err, "does not list: run make licenses")
	require.ErrorContains(t, err, "the binary for linux/amd64 contains ")

	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module example.com/plain\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "main.go"), []byte("package main\n\nfunc main() {}\n"), 0o600))
	shell(t, dir, "go build -o plain .")
	modules, err := linked([]binary{{platform{"linux", "amd64"}, filepath.Join(dir, "plain")}}, listed(listing))
	require.NoError(t, err)
	require.Len(t, modules, 3)
	require.Equal(t, "example.com/a/v2", modules[0].path, "sorted")
	require.Regexp(t, `^1\.\d+`, modules[2].version)
}

func exampleBill() bill {
	return bill{
		version: "v0.2.0", commit: "0123456789abcdef", created: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		modules: []module{{"example.com/a/v2", "v2.1.0", "Apache-2.0"}, {"std", "1.26.8", "BSD-3-Clause"}},
		files:   []file{{"watchglass.wasm", strings.Repeat("ab", 32)}},
	}
}

func TestCycloneDXNamesEveryModuleAndFile(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, writeCycloneDX(&out, exampleBill()))
	var doc cdx.BOM
	require.NoError(t, cdx.NewBOMDecoder(bytes.NewReader(out.Bytes()), cdx.BOMFileFormatJSON).Decode(&doc))
	require.Equal(t, cdx.SpecVersion1_6, doc.SpecVersion)
	require.Regexp(t, `^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`, doc.SerialNumber)
	require.Equal(t, "2026-01-02T03:04:05Z", doc.Metadata.Timestamp)
	require.Equal(t, "pkg:golang/github.com/watchglass/watchglass@v0.2.0", doc.Metadata.Component.PackageURL)
	components := *doc.Components
	require.Len(t, components, 3)
	require.Equal(t, "pkg:golang/example.com/a/v2@v2.1.0", components[0].PackageURL)
	require.Equal(t, "Apache-2.0", (*components[0].Licenses)[0].License.ID)
	require.Equal(t, "pkg:golang/std@1.26.8", components[1].PackageURL)
	require.Equal(t, strings.Repeat("ab", 32), (*components[2].Hashes)[0].Value)
	require.Equal(t, []string{components[0].BOMRef, components[1].BOMRef}, *(*doc.Dependencies)[0].Dependencies)
}

func TestSPDXNamesEveryModuleAndFile(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, writeSPDX(&out, exampleBill()))
	doc, err := spdxjson.Read(bytes.NewReader(out.Bytes()))
	require.NoError(t, err)
	require.NoError(t, spdxlib.ValidateDocument(doc))
	described, err := spdxlib.GetDescribedPackageIDs(doc)
	require.NoError(t, err)
	require.Len(t, described, 1)
	require.Len(t, doc.Packages, 4)
	require.Equal(t, described[0], doc.Packages[0].PackageSPDXIdentifier)
	require.Equal(t, "pkg:golang/example.com/a/v2@v2.1.0", doc.Packages[1].PackageExternalReferences[0].Locator)
	require.Equal(t, "Apache-2.0", doc.Packages[1].PackageLicenseDeclared)
	require.Equal(t, strings.Repeat("ab", 32), doc.Packages[3].PackageChecksums[0].Value)
	require.Len(t, doc.Relationships, 4)
	for _, r := range doc.Relationships[1:3] {
		require.Equal(t, "CONTAINS", r.Relationship)
	}
}

func TestSBOMsDifferOnlyWithTheirContent(t *testing.T) {
	for _, write := range []func(*bytes.Buffer, bill) error{
		func(b *bytes.Buffer, of bill) error { return writeSPDX(b, of) },
		func(b *bytes.Buffer, of bill) error { return writeCycloneDX(b, of) },
	} {
		var first, second, other bytes.Buffer
		require.NoError(t, write(&first, exampleBill()))
		require.NoError(t, write(&second, exampleBill()))
		require.Equal(t, first.String(), second.String())
		changed := exampleBill()
		changed.commit = "fedcba"
		require.NoError(t, write(&other, changed))
		require.NotEqual(t, first.String(), other.String())
	}
}
