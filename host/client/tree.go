package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strings"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/wire"
)

// TreeOptions configure a tree. The zero value selects the defaults.
type TreeOptions struct {
	Limit uint32 // maximum number of objects per collection. Default 1000, at most wire.MaxViewRows
}

const defaultTreeLimit = 1000

// Tree is a live tree of the objects that a root object owns, directly or indirectly.
type Tree struct {
	uid     string
	sources []treeSource
}

// treeSource contains the views of one collection.
type treeSource struct {
	collection *Collection
	root       *View // only the root
	below      *View // all objects below the root
	refused    error // why there are no views
}

// TreeNode is an object in a tree, with the nodes of the objects that it owns. It is
// immutable.
type TreeNode struct {
	UID        string
	Collection *Collection // the first collection that has the object; nil if none has it, which is possible only for the root
	Object     Object      // without JSON; zero if Collection is nil
	Children   []*TreeNode // in the order of the collections, and within a collection by key
}

// TreeSnapshot is the tree at one point in time. It is immutable.
type TreeSnapshot struct {
	Root *TreeNode
	// Truncated reports that a collection has more objects below the root than
	// TreeOptions.Limit. The tree then lacks some of these objects.
	Truncated bool
	// Errors contains the reasons why objects of collections are missing or outdated,
	// such as a missing right.
	Errors []TreeError
}

// TreeError is the reason why objects of a collection are missing or outdated.
type TreeError struct {
	Collection *Collection
	Err        error
}

// Tree opens the live tree below the object with the given UID. The tree contains the
// objects whose chain of owners reaches that object, as ViewOptions.Recursive finds them.
// Only objects of the given collections are part of the tree, but chains of owners may
// lead through all open collections of the client. An object that several collections
// contain is in the tree once. Close the tree when done.
func (c *Client) Tree(ctx context.Context, collections []*Collection, uid string, opts TreeOptions) (*Tree, error) {
	switch {
	case uid == "" || len(collections) == 0:
		return nil, api.BadRequest("a tree needs the UID of its root, and at least one collection")
	case opts.Limit > wire.MaxViewRows:
		return nil, api.BadRequest(fmt.Sprintf("a tree has at most %d objects of a collection, not %d", wire.MaxViewRows, opts.Limit))
	case opts.Limit == 0:
		opts.Limit = defaultTreeLimit
	}
	t := &Tree{uid: uid}
	for _, collection := range collections {
		s := treeSource{collection: collection}
		if err := s.open(ctx, uid, opts.Limit); err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", collection.resource, err), t.Close(), s.close())
		}
		t.sources = append(t.sources, s)
	}
	return t, nil
}

var whereQuotes = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

func (s *treeSource) open(ctx context.Context, uid string, limit uint32) (err error) {
	if s.root, err = s.collection.View(ctx, ViewOptions{Where: `uid = "` + whereQuotes.Replace(uid) + `"`, Limit: 1}); err == nil {
		s.below, err = s.collection.View(ctx, ViewOptions{OwnedBy: uid, Recursive: true, Limit: limit})
	}
	if status := (*api.Status)(nil); errors.As(err, &status) {
		s.refused = err // the tree still shows objects of the other collections
		return s.close()
	}
	return err
}

func (s *treeSource) close() (failed error) {
	for _, view := range []*View{s.root, s.below} {
		if view != nil {
			failed = errors.Join(failed, view.Close())
		}
	}
	return failed
}

// Close closes the tree, and leaves the collections open.
func (t *Tree) Close() error {
	var failed error
	for i := range t.sources {
		failed = errors.Join(failed, t.sources[i].close())
	}
	return failed
}

// Snapshots yields the tree once every collection has loaded its objects or has failed,
// and then a new tree for every change. A slow reader skips intermediate trees. The loop
// ends with an error: ErrClosed, the reason why there are no objects at all, or the error
// of ctx.
func (t *Tree) Snapshots(ctx context.Context) iter.Seq2[*TreeSnapshot, error] {
	return func(yield func(*TreeSnapshot, error) bool) {
		var last []sourceState
		for {
			states, changes := t.states()
			switch {
			case closed(states):
				yield(nil, cmp.Or(states[0].err, ErrClosed))
				return
			case !slices.ContainsFunc(states, sourceState.loading) && !slices.EqualFunc(states, last, sourceState.equals):
				last = states
				if !yield(t.grow(states), nil) {
					return
				}
				continue
			}
			if err := waitForAny(ctx, changes); err != nil {
				yield(nil, err)
				return
			}
		}
	}
}

// sourceState contains the newest snapshots of one collection, from which the tree is
// built.
type sourceState struct {
	root, below *Snapshot
	ended       bool  // the views are closed
	err         error // why objects are missing or outdated
}

func (s sourceState) loading() bool { return s.err == nil && (s.root == nil || s.below == nil) }

func (s sourceState) equals(other sourceState) bool {
	return s.root == other.root && s.below == other.below && fmt.Sprint(s.err) == fmt.Sprint(other.err)
}

// states returns the state of each source, and channels that are closed when one of
// them changes.
func (t *Tree) states() ([]sourceState, []<-chan struct{}) {
	states := make([]sourceState, len(t.sources))
	var changes []<-chan struct{}
	for i, s := range t.sources {
		if s.refused != nil {
			states[i] = sourceState{ended: true, err: s.refused}
			continue
		}
		root, rootChange := s.root.newest.get()
		below, belowChange := s.below.newest.get()
		status, statusChange := s.collection.StatusChange()
		changes = append(changes, rootChange, belowChange, statusChange)
		state := sourceState{root: root.snapshot, below: below.snapshot, ended: below.closed, err: below.err}
		if state.loading() {
			state.err = status.Err
		}
		if state.ended {
			state.root, state.below = nil, nil // the snapshots are no longer up to date
		}
		states[i] = state
	}
	return states, changes
}

// closed reports whether the views of all collections are closed.
func closed(states []sourceState) bool {
	return !slices.ContainsFunc(states, func(s sourceState) bool { return !s.ended })
}

// waitForAny waits until one of the channels is closed.
func waitForAny(ctx context.Context, channels []<-chan struct{}) error {
	cases := []reflect.SelectCase{{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(ctx.Done())}}
	for _, c := range channels {
		cases = append(cases, reflect.SelectCase{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(c)})
	}
	if chosen, _, _ := reflect.Select(cases); chosen == 0 {
		return ctx.Err()
	}
	return nil
}

// grow builds the tree from the rows of all views.
func (t *Tree) grow(states []sourceState) *TreeSnapshot {
	root := &TreeNode{UID: t.uid}
	snapshot := &TreeSnapshot{Root: root}
	nodes := map[string]*TreeNode{t.uid: root}
	var order []*TreeNode
	for i, state := range states {
		collection := t.sources[i].collection
		if state.err != nil {
			snapshot.Errors = append(snapshot.Errors, TreeError{collection, state.err})
		}
		for _, view := range []*Snapshot{state.root, state.below} {
			if view == nil {
				continue
			}
			snapshot.Truncated = snapshot.Truncated || view.Total > uint64(len(view.Rows))
			for _, o := range view.Rows {
				n := nodes[o.UID()]
				if n == nil {
					n = &TreeNode{UID: o.UID()}
					nodes[n.UID], order = n, append(order, n)
				}
				if n.Collection == nil {
					n.Collection, n.Object = collection, o
				}
			}
		}
	}
	// The root never becomes a child, so no cycle can be reached from the root.
	for _, n := range order {
		if parent := nodes[n.Object.Owner()]; parent != nil {
			parent.Children = append(parent.Children, n)
		}
	}
	return snapshot
}
