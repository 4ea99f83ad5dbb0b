package cacher

import "github.com/watchglass/watchglass/core/api"

// Retelling is a stretch of the window, up to its end, as a reader of everything
// was told of it: readers that are at the same place are told the same bytes.
type Retelling struct {
	From, To, Generation int
	ResourceVersion      api.ResourceVersion // of the last revision
	// Held is the oldest version that whoever is told must hold with its base;
	// the largest there is when there is none.
	Held       api.ResourceVersion
	Dictionary uint32
	LabelSets  []LabelSetMark // that whoever is told must know
	Count      int
	Changes    []byte // as wire.Events has them
}

// LabelSetMark is a label set as it was defined to readers.
type LabelSetMark struct{ ID, Mark uint32 }

// Retelling is the last one, for the readers of this collection to use and to
// write anew.
func (c *Cacher) Retelling() *Retelling { return &c.retelling }

// Shared reports whether more than one reader follows.
func (c *Cacher) Shared() bool { return len(c.followers) > 1 }
