package source

import (
	"context"

	"github.com/watchglass/watchglass/core/api"
)

// Writer changes the objects of a source. Only tests, the simulator and the demo use it.
// watchglass itself never writes objects.
type Writer interface {
	// Txn applies all writes in one revision, and returns that revision. If it fails, it
	// applies none of them. A key may occur only once per call. Deleting an object that
	// does not exist is not a change.
	Txn(ctx context.Context, writes ...Write) (api.ResourceVersion, error)
}

// Write creates or replaces an object, or deletes it if Value is nil. The writer retains
// Value, so the caller must not modify it after the call.
type Write struct {
	Resource api.Resource
	Key      api.Key
	Value    []byte
}
