package check

import "github.com/watchglass/watchglass/core/api"

// Unique checks that each version of an object is delivered at most once.
func Unique(_ *Log, w *Watch) error {
	type change struct {
		key api.Key
		rv  api.ResourceVersion
	}
	seen := map[change]Event{}
	for _, e := range w.Events {
		if !e.Type.IsChange() {
			continue
		}
		at := change{e.Key, e.ResourceVersion}
		if before, twice := seen[at]; twice {
			return violated(ErrUnique, w, "%v, and before that %v", e, before)
		}
		seen[at] = e
	}
	return nil
}
