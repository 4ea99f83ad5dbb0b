package history

// Cursor is the read position of a reader in a window. An idle reader has read all
// events: its position moves with the end of the window until Wake or Anchor fixes the
// position.
//
// A cursor holds no reference to events, so a slow reader costs no memory and the
// window can overtake the reader.
type Cursor struct {
	window   *Window
	position int // set by the last move
	behind   bool
}

// NewCursor returns the cursor of a reader that has read all events.
func NewCursor(w *Window) Cursor { return Cursor{window: w, position: w.End()} }

// Behind reports whether the reader has a fixed position. Otherwise the reader is idle.
func (c *Cursor) Behind() bool { return c.behind }

// Position returns the position of the next event to read.
func (c *Cursor) Position() int {
	if !c.behind {
		return c.window.End()
	}
	return c.position
}

// MoveTo sets the position of the next event to read.
func (c *Cursor) MoveTo(position int) {
	c.position, c.behind = position, position != c.window.End()
}

// Covers reports whether the reader has already read the event at a position, or will
// read it later because the reader is behind.
func (c *Cursor) Covers(position int) bool { return c.behind || position < c.position }

// Wake makes an idle reader continue at the event at a position. It returns false,
// and does nothing, if the cursor covers that position.
func (c *Cursor) Wake(position int) bool {
	if c.Covers(position) {
		return false
	}
	c.position, c.behind = position, true
	return true
}

// Anchor fixes an idle reader at the current end of the window.
func (c *Cursor) Anchor() {
	if !c.behind {
		c.position, c.behind = c.window.End(), true
	}
}

// Overtaken reports whether the window has evicted the next event to read.
func (c *Cursor) Overtaken() bool { return c.behind && c.position < c.window.Start() }

// Peek returns the next event, or nil at the end. The cursor must not be
// overtaken.
func (c *Cursor) Peek() *Event {
	if !c.behind || c.position == c.window.End() {
		return nil
	}
	return c.window.At(c.position)
}

// Next returns the next event and moves past it, or returns nil at the end.
func (c *Cursor) Next() *Event {
	e := c.Peek()
	if e == nil {
		c.behind = false
		return nil
	}
	c.MoveTo(c.position + 1)
	return e
}

// Window returns the window of the cursor.
func (c *Cursor) Window() *Window { return c.window }
