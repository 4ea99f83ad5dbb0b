package history

// Cursor is how far a reader has read a window. A reader that has read
// everything rests: its position is the end of the window, and moves with it,
// until Wake names an event that it has to read.
//
// Being far behind costs nothing. A cursor holds no event, so the window can
// overtake it.
type Cursor struct {
	window   *Window
	position int // as of the last move
	behind   bool
}

// NewCursor returns the cursor of a reader that has read everything.
func NewCursor(w *Window) Cursor { return Cursor{window: w, position: w.End()} }

// Behind reports that the reader does not rest. Only then is its position of
// interest.
func (c *Cursor) Behind() bool { return c.behind }

// Position is that of the next event to read.
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

// Covers reports that the reader has read the event at a position, or is behind
// and will find it there.
func (c *Cursor) Covers(position int) bool { return c.behind || position < c.position }

// Wake ends the rest of a reader at the event of a position, and reports
// whether it did.
func (c *Cursor) Wake(position int) bool {
	if c.Covers(position) {
		return false
	}
	c.position, c.behind = position, true
	return true
}

// Anchor ends the rest of a reader at the present end of the window.
func (c *Cursor) Anchor() {
	if !c.behind {
		c.position, c.behind = c.window.End(), true
	}
}

// Overtaken reports that the window no longer has the next event to read.
func (c *Cursor) Overtaken() bool { return c.behind && c.position < c.window.Start() }

// Peek returns the next event, or nil at the end. The cursor must not be
// overtaken.
func (c *Cursor) Peek() *Event {
	if !c.behind || c.position == c.window.End() {
		return nil
	}
	return c.window.At(c.position)
}

// Next is Peek, and moves past the event.
func (c *Cursor) Next() *Event {
	e := c.Peek()
	if e == nil {
		c.behind = false
		return nil
	}
	c.MoveTo(c.position + 1)
	return e
}

// Window is what the cursor reads.
func (c *Cursor) Window() *Window { return c.window }
