package coretest

import (
	"bytes"
	"fmt"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/body"
	"github.com/watchglass/watchglass/core/cacher"
	"github.com/watchglass/watchglass/core/wire"
)

// doTap makes the harness print how bodies are encoded in messages, which the output of
// the engine does not show.
func doTap(h *harness, v *verb) error {
	h.network.tapped = true
	return v.done()
}

func doCorruptBodies(h *harness, v *verb) error {
	h.network.corrupt = true
	return v.done()
}

func doChange(h *harness, v *verb) error {
	h.network.from, h.network.to = []byte(v.take("the bytes to change")), []byte(v.take("the bytes that arrive"))
	if err := v.done(); err != nil {
		return err
	}
	if len(h.network.from) == 0 || len(h.network.from) != len(h.network.to) {
		return fmt.Errorf("the bytes that arrive must be as many as those that are changed, and at least one")
	}
	return nil
}

// change replaces n.from with n.to if the message contains n.from, and then clears both.
func (n *network) change(data []byte) []byte {
	if len(n.from) == 0 || !bytes.Contains(data, n.from) {
		return data
	}
	data = bytes.Replace(data, n.from, n.to, 1)
	n.from, n.to = nil, nil
	return data
}

func doLoseBodies(h *harness, v *verb) error {
	h.network.losing = true
	return v.done()
}

// changeBodies removes the blocks of bodies from a message if the network loses them. If
// n.corrupt is set, changeBodies instead truncates the next block that contains bodies.
func (n *network) changeBodies(data []byte) (changed []byte) {
	for len(data) > 0 {
		kind, payload, rest, err := wire.Next(data)
		var f wire.SnapshotBodies
		var block wire.SnapshotBlock
		switch {
		case err != nil:
			return append(changed, data...)
		case kind == wire.TypeChecksum:
			changed = wire.AppendChecksum(changed)
		case kind == wire.TypeSnapshotBlock && n.corrupt && block.Parse(payload) == nil && block.Bodies > 0:
			n.corrupt = false
			block.Data = block.Data[:len(block.Data)*4/5]
			changed = block.Append(changed)
		case kind != wire.TypeSnapshotBodies || f.Parse(payload) != nil || !n.losing && !n.corrupt:
			changed = append(changed, data[:len(data)-len(rest)]...)
		case n.corrupt:
			n.corrupt = false
			f.Data = f.Data[:len(f.Data)/2]
			changed = f.Append(changed)
		}
		data = rest
	}
	return changed
}

// newDeltaEpoch sets the connector's delta epoch, unless the given epoch is zero.
func (c *connector) newDeltaEpoch(name uint64) {
	if name != 0 {
		c.deltaEpoch = name
	}
}

// difference replaces the body of an object with a delta from the base that the connector
// uses.
func (r *resource) difference(put *cacher.Update) error {
	key := put.Envelope.Key()
	base := r.cacher.Bodies().BaseFor(r.cacher.State().Get(key))
	if base == 0 {
		return fmt.Errorf("there is no earlier version of %s that its body could be the difference from", key)
	}
	encoder, err := body.NewEncoder(nil)
	if err != nil {
		return err
	}
	arena := r.cacher.Arena()
	body, ok := encoder.EncodeDelta(nil, arena.Body(base).Data, put.Envelope.Body().Data, body.MaxDecoded)
	if !ok {
		return fmt.Errorf("the body of %s is too large to be a difference", key)
	}
	put.Envelope = put.Envelope.AppendWithBody(nil, body)
	put.Base = wire.Base{ResourceVersion: arena.ResourceVersion(base)}
	return nil
}

// label returns the beginning of each printed line about a subscription.
func label(subscription uint32) string { return fmt.Sprintf("subscription %d", subscription) }

// travel prints the encoding of each object in a message, and the recipient of the
// message. It stops at a malformed frame, which the recipient reports.
func (p *printer) travel(message []byte, who func(subscription uint32) string) {
	_ = wire.FromConnector.Each(message, func(_ wire.Type, frame wire.Frame) error {
		switch f := frame.(type) {
		case *wire.SnapshotPart:
			p.bodies(who(f.Subscription), f.Objects)
		case *wire.SnapshotBlock:
			p.bodies(who(f.Subscription), expand(f))
		case *wire.Events:
			p.bodies(who(f.Subscription), f.Changes)
		}
		return nil
	})
}

// storedChunk prints the encoding of the objects in a chunk.
func (p *printer) storedChunk(data []byte) error {
	_, payload, body, err := wire.Next(data)
	if err != nil {
		return err
	}
	var c wire.Chunk
	if err := c.Parse(payload); err != nil {
		return err
	}
	before, behind := c.Split()
	for _, frames := range [...][]byte{before, body, behind} {
		p.travel(frames, func(uint32) string { return "stored" })
	}
	return nil
}

func (p *printer) bodies(who string, changes []wire.Change) {
	for i := range changes {
		c := &changes[i]
		p.line("%s: %s %s rv=%d%s", who, c.Type, c.Key, c.ResourceVersion, bodyOf(c))
	}
}

// bodyOf describes how the body of a change is encoded.
func bodyOf(c *wire.Change) string {
	body := c.Envelope.Body
	if c.Patch != nil {
		body = c.Patch.Body
	}
	switch {
	case c.Type == api.Deleted:
		return ""
	case c.Base.Body.Codec != api.NoBody:
		return fmt.Sprintf(", body: difference from rv=%d, with the base", c.Base.ResourceVersion)
	case c.Base.ResourceVersion != 0:
		return fmt.Sprintf(", body: difference from rv=%d", c.Base.ResourceVersion)
	case body().Codec == api.NoBody:
		return ", no body"
	}
	return ", body: whole"
}
