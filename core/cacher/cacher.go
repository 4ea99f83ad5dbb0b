package cacher

import (
	"github.com/watchglass/watchglass/core/api"
)

// Cacher is one collection.
type Cacher struct{}

// Config of a cacher; zeros take defaults.
type Config struct {
	Schema     api.Schema
	Dictionary []byte // of the bodies fed in; nil for none
}

// New makes an empty cacher, not ready.
func New(cfg Config) *Cacher { return &Cacher{} }

// Ready reports whether a first list has been committed.
func (c *Cacher) Ready() bool { return false }

// ResourceVersion is the newest version applied.
func (c *Cacher) ResourceVersion() api.ResourceVersion { return 0 }

// Len is the number of objects.
func (c *Cacher) Len() int { return 0 }

// BeginList starts a new state, staged beside the present one.
func (c *Cacher) BeginList(rv api.ResourceVersion) {}

// ListObject adds an object to the staged state. The object is copied.
func (c *Cacher) ListObject(o *api.Object) {}

// EndList commits the staged state in one step.
func (c *Cacher) EndList(nowMillis int64) {}

// Apply applies one change: o nil means that key was deleted. Changes of one
// revision are applied one after the other before anything reads.
func (c *Cacher) Apply(key api.Key, rv api.ResourceVersion, o *api.Object, nowMillis int64) {}

// Progress says that everything up to rv has been applied.
func (c *Cacher) Progress(rv api.ResourceVersion, nowMillis int64) {}

// Fault records that the newest version of key cannot be served; the last good
// one stays. It is forgotten when the key changes again.
func (c *Cacher) Fault(key api.Key, rv api.ResourceVersion, status *api.Status, nowMillis int64) {}
