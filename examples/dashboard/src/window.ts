/**
 * The arithmetic between a scrollbar and a live view's window. Every row has
 * the same height, so a position is an index and an index a position.
 */

export interface Geometry {
  rowHeight: number;
  /** Height of the visible part, without the header. */
  viewport: number;
  total: number;
}

export interface Window {
  offset: number;
  limit: number;
}

/** Browsers stop laying out somewhere above 16 million pixels; from here on the scrollbar moves more than one row a row. */
const MAX_HEIGHT = 12_000_000;

export function contentHeight(g: Geometry): number {
  return Math.min(g.total * g.rowHeight, MAX_HEIGHT);
}

/** How many pixels of rows there are for each pixel of scrollbar; 1 until the height is capped. */
function scale(g: Geometry): number {
  const scrollable = contentHeight(g) - g.viewport;
  return scrollable > 0 ? (g.total * g.rowHeight - g.viewport) / scrollable : 1;
}

/** The row at the top of the viewport; a fraction when it is cut. */
export function firstVisible(scrollTop: number, g: Geometry): number {
  return Math.max(0, (scrollTop * scale(g)) / g.rowHeight);
}

/** How many rows a viewport shows, cut ones included. */
export function visibleRows(g: Geometry): number {
  return Math.ceil(g.viewport / g.rowHeight) + 1;
}

/** The scroll position that shows a row, moved as little as possible. */
export function scrollTopFor(index: number, scrollTop: number, g: Geometry): number {
  const first = firstVisible(scrollTop, g);
  const fits = g.viewport / g.rowHeight;
  if (index < first) return (index * g.rowHeight) / scale(g);
  if (index + 1 > first + fits) return ((index + 1 - fits) * g.rowHeight) / scale(g);
  return scrollTop;
}

/**
 * The window that a view should have: the visible rows and as many again on
 * both sides, so that a scroll usually finds its rows already there. The
 * current window stays while it still reaches half of that margin.
 */
export function wantedWindow(first: number, g: Geometry, current: Window): Window {
  const visible = visibleRows(g);
  const margin = Math.max(visible, 20);
  const from = Math.floor(first);
  const top = Math.max(0, from - margin / 2);
  const bottom = Math.min(g.total, from + visible + margin / 2);
  const limit = visible + 2 * margin;
  if (current.limit === limit && current.offset <= top && current.offset + current.limit >= bottom) return current;
  return { offset: Math.max(0, from - margin), limit };
}
