package client

import (
	"bytes"
	"slices"
	"strings"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/wire"
)

// Object is one version of an object. It is immutable, and copies share its bytes.
type Object struct {
	rv       api.ResourceVersion
	flags    api.Flags
	labels   api.Labels
	owner    string
	envelope wire.Envelope
}

// newObject copies an item from the instance's memory.
func newObject(item *wire.Item) Object {
	labels := slices.Clone(item.Labels)
	for i := range labels {
		labels[i] = api.Label{Key: strings.Clone(labels[i].Key), Value: strings.Clone(labels[i].Value)}
	}
	return Object{rv: item.ResourceVersion, flags: item.Flags, labels: labels.WithoutOwner(), owner: api.ParseOwner(labels.OwnerText(), "").UID, envelope: bytes.Clone(item.Envelope)}
}

// Key returns "namespace/name", or the name for a cluster-scoped object.
func (o Object) Key() api.Key { return o.envelope.Key() }

// UID returns metadata.uid.
func (o Object) UID() string { return o.envelope.UID() }

// Owner returns the UID of the object's controller, or else of its first owner reference,
// or "" if it has no owner. The owner is known only for objects that were read without
// JSON, such as rows of views and objects of collections with metadata only.
func (o Object) Owner() string { return o.owner }

// ResourceVersion returns the version of this object.
func (o Object) ResourceVersion() api.ResourceVersion { return o.rv }

// Flags returns flags such as api.FinalStateUnknown.
func (o Object) Flags() api.Flags { return o.flags }

// Labels returns the labels, sorted by key. The result is shared; do not modify it.
func (o Object) Labels() api.Labels { return o.labels }

// Field returns the value of the i-th field of the schema.
func (o Object) Field(i int) string { return o.envelope.Field(i) }

// Column returns the value of the i-th column of the schema.
func (o Object) Column(i int) api.Value { return o.envelope.Column(i) }

// JSON returns a copy of the complete object, which the caller owns. It is nil for
// objects that were read without JSON.
func (o Object) JSON() []byte {
	if body := o.envelope.Body(); body.Codec == api.JSON {
		return bytes.Clone(body.Data)
	}
	return nil
}
