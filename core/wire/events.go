package wire

import "github.com/watchglass/watchglass/core/api"

// Events contains the changes of one or more whole revisions, oldest first. A revision is
// never split across frames, so a reader can resume from the version of any frame. Only
// [Progress] implies that the reader is current. A frame without changes only advances
// the version.
type Events struct {
	Subscription    uint32
	ResourceVersion api.ResourceVersion // version of the last revision in the frame
	Changes         []Change
}

// Append appends the frame to dst.
func (f *Events) Append(dst []byte) []byte {
	dst, start := f.begin(dst, len(f.Changes))
	return end(f.AppendChanges(dst), start)
}

func (f *Events) begin(dst []byte, changes int) ([]byte, int) {
	dst, start := begin(dst, TypeEvents)
	dst = appendUvarint(dst, uint64(f.Subscription))
	dst = appendUvarint(dst, uint64(f.ResourceVersion))
	return appendUvarint(dst, uint64(changes)), start
}

// AppendChanges appends only the changes to dst, in the form that AppendEncoded accepts.
func (f *Events) AppendChanges(dst []byte) []byte {
	for i := range f.Changes {
		dst = f.appendChange(dst, &f.Changes[i])
	}
	return dst
}

// AppendEncoded appends the whole frame to dst, with n changes that AppendChanges encoded
// for a frame of the same version.
func (f *Events) AppendEncoded(dst []byte, n int, changes []byte) []byte {
	dst, start := f.begin(dst, n)
	return end(append(dst, changes...), start)
}

func (f *Events) appendChange(dst []byte, c *Change) []byte {
	dst = append(dst, byte(c.Type))
	dst = appendUvarint(dst, uint64(f.ResourceVersion-c.ResourceVersion))
	if c.Type == api.Deleted {
		return appendBytes(dst, c.Key)
	}
	return appendContent(dst, c)
}

// Parse sets the fields from a payload.
func (f *Events) Parse(payload []byte) error {
	r := reader{b: payload}
	f.Subscription = r.uint32()
	f.ResourceVersion = r.rv()
	f.Changes = grow(f.Changes, r.count(4))
	last := api.ResourceVersion(0)
	for i := range f.Changes {
		r.change(f, &f.Changes[i])
		if r.err == nil && f.Changes[i].ResourceVersion < last {
			r.fail("resource versions not in order")
		}
		last = f.Changes[i].ResourceVersion
	}
	return r.done("Events")
}

func (r *reader) change(f *Events, c *Change) {
	*c = Change{Type: api.EventType(r.byte())}
	behind := r.rv()
	if !c.Type.IsChange() {
		r.fail("event type that is not a change")
		return
	}
	if behind > f.ResourceVersion {
		r.fail("resource version below zero")
		return
	}
	c.ResourceVersion = f.ResourceVersion - behind
	if c.Type == api.Deleted {
		if c.Key = api.Key(r.string()); c.Key == "" {
			r.fail("empty key")
		}
		return
	}
	r.content(c)
}
