package main

import (
	"io"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

func writeCycloneDX(w io.Writer, b bill) error {
	root := "pkg:golang/" + modulePath + "@" + b.version
	doc := cdx.NewBOM()
	doc.SerialNumber = "urn:uuid:" + b.id()
	doc.Metadata = &cdx.Metadata{
		Timestamp: b.created.Format(time.RFC3339),
		Component: &cdx.Component{
			BOMRef: root, Type: cdx.ComponentTypeApplication, Name: "watchglass", Version: b.version, PackageURL: root,
			Licenses:           licensed(ownLicense),
			ExternalReferences: &[]cdx.ExternalReference{{Type: cdx.ERTypeVCS, URL: sourceURL, Comment: b.commit}},
		},
	}
	var components []cdx.Component
	var refs []string
	for _, m := range b.modules {
		components = append(components, cdx.Component{
			BOMRef: m.purl(), Type: cdx.ComponentTypeLibrary, Name: m.path, Version: m.version, PackageURL: m.purl(), Licenses: licensed(m.license),
		})
		refs = append(refs, m.purl())
	}
	for _, f := range b.files {
		components = append(components, cdx.Component{
			BOMRef: "file:" + f.name, Type: cdx.ComponentTypeFile, Name: f.name, Hashes: &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: f.sum}},
		})
	}
	doc.Components, doc.Dependencies = &components, &[]cdx.Dependency{{Ref: root, Dependencies: &refs}}
	return cdx.NewBOMEncoder(w, cdx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(doc, cdx.SpecVersion1_6)
}

func licensed(id string) *cdx.Licenses {
	return &cdx.Licenses{{License: &cdx.License{ID: id}}}
}
