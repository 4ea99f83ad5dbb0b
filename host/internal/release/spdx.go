package main

import (
	"fmt"
	"io"
	"time"

	spdxjson "github.com/spdx/tools-golang/json"
	"github.com/spdx/tools-golang/spdx/v2/common"
	spdx "github.com/spdx/tools-golang/spdx/v2/v2_3"
)

const (
	modulePath = "github.com/watchglass/watchglass"
	sourceURL  = "https://" + modulePath
	ownLicense = "Apache-2.0"
	unasserted = "NOASSERTION"
)

func writeSPDX(w io.Writer, b bill) error {
	doc := &spdx.Document{
		SPDXVersion: spdx.Version, DataLicense: spdx.DataLicense, SPDXIdentifier: "DOCUMENT",
		DocumentName:      "watchglass-" + b.version,
		DocumentNamespace: fmt.Sprintf("%s/releases/%s/spdx-%s", sourceURL, b.version, b.id()),
		CreationInfo: &spdx.CreationInfo{
			Creators: []common.Creator{{CreatorType: "Tool", Creator: "watchglass-release"}},
			Created:  b.created.Format(time.RFC3339),
		},
	}
	root := spdxPackage("watchglass", module{modulePath, b.version, ownLicense})
	root.PackageDownloadLocation = "git+" + sourceURL + "@" + b.commit
	root.PrimaryPackagePurpose = "APPLICATION"
	doc.Packages = append(doc.Packages, root)
	relate := func(from common.ElementID, relationship string, to common.ElementID) {
		doc.Relationships = append(doc.Relationships, &spdx.Relationship{
			RefA: common.MakeDocElementID("", string(from)), RefB: common.MakeDocElementID("", string(to)), Relationship: relationship,
		})
	}
	relate("DOCUMENT", common.TypeRelationshipDescribe, root.PackageSPDXIdentifier)
	for i, m := range b.modules {
		p := spdxPackage(fmt.Sprintf("module-%d", i), m)
		p.PrimaryPackagePurpose = "LIBRARY"
		doc.Packages = append(doc.Packages, p)
		relate(root.PackageSPDXIdentifier, common.TypeRelationshipContains, p.PackageSPDXIdentifier)
	}
	for i, f := range b.files {
		p := &spdx.Package{
			PackageName: f.name, PackageSPDXIdentifier: common.ElementID(fmt.Sprintf("Package-file-%d", i)), PackageVersion: b.version,
			PackageFileName: f.name, PackageDownloadLocation: unasserted, PrimaryPackagePurpose: "FILE",
			PackageChecksums:        []common.Checksum{{Algorithm: common.SHA256, Value: f.sum}},
			PackageLicenseConcluded: unasserted, PackageLicenseDeclared: ownLicense, PackageCopyrightText: unasserted,
		}
		doc.Packages = append(doc.Packages, p)
		relate(p.PackageSPDXIdentifier, common.TypeRelationshipGeneratedFrom, root.PackageSPDXIdentifier)
	}
	return spdxjson.Write(doc, w, spdxjson.Indent("  "))
}

func spdxPackage(id string, m module) *spdx.Package {
	return &spdx.Package{
		PackageName: m.path, PackageSPDXIdentifier: common.ElementID("Package-" + id), PackageVersion: m.version,
		PackageDownloadLocation: unasserted, PackageCopyrightText: unasserted,
		PackageLicenseConcluded: m.license, PackageLicenseDeclared: m.license,
		PackageExternalReferences: []*spdx.PackageExternalReference{{
			Category: common.CategoryPackageManager, RefType: common.TypePackageManagerPURL, Locator: m.purl(),
		}},
	}
}
