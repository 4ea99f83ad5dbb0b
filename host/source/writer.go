package source

import (
	"context"

	"github.com/watchglass/watchglass/core/api"
)

// Writer changes the objects of a source. Only tests, the simulator and the demo use
// it. The product never writes.
type Writer interface {
	// Txn applies all writes as one revision, which it returns. If it fails, it applies
	// none. A key may occur once. Deleting a missing object is not a change.
	Txn(ctx context.Context, writes ...Write) (api.ResourceVersion, error)
}

// Write puts an object, or deletes it if Value is nil. The writer retains Value, so
// the caller must not change it afterwards.
type Write struct {
	Resource api.Resource
	Key      api.Key
	Value    []byte
}
