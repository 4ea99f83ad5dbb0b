/**
 * Functions that convert between scroll positions and the window of a live view. Every row has the
 * same height, so positions are proportional to indexes.
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

/**
 * The maximum height of the scrolled content in pixels. Browsers limit heights to about 16 million
 * pixels. With more rows, one pixel of scrolling moves the rows by several pixels.
 */
const MAX_HEIGHT = 12_000_000;

export function contentHeight(g: Geometry): number {
  return Math.min(g.total * g.rowHeight, MAX_HEIGHT);
}

/**
 * Returns the number of pixels that the rows move per pixel of scrolling. The result is 1 unless
 * MAX_HEIGHT limits the height.
 */
function scale(g: Geometry): number {
  const scrollable = contentHeight(g) - g.viewport;
  return scrollable > 0 ? (g.total * g.rowHeight - g.viewport) / scrollable : 1;
}

/**
 * Returns the index of the row at the top of the viewport. The index is fractional if this row is
 * partly hidden.
 */
export function firstVisible(scrollTop: number, g: Geometry): number {
  return Math.max(0, (scrollTop * scale(g)) / g.rowHeight);
}

/** Returns the number of rows in a viewport, including partly visible ones. */
export function visibleRows(g: Geometry): number {
  return Math.ceil(g.viewport / g.rowHeight) + 1;
}

/**
 * Returns the scroll position nearest to `scrollTop` at which the row at `index` is fully visible.
 */
export function scrollTopFor(index: number, scrollTop: number, g: Geometry): number {
  const first = firstVisible(scrollTop, g);
  const fits = g.viewport / g.rowHeight;
  if (index < first) return (index * g.rowHeight) / scale(g);
  if (index + 1 > first + fits) return ((index + 1 - fits) * g.rowHeight) / scale(g);
  return scrollTop;
}

/** Returns the scroll position that shows the same lines after they have moved by a number of lines. */
export function shifted(scrollTop: number, lines: number, g: Geometry): number {
  return Math.max(0, scrollTop + (lines * g.rowHeight) / scale(g));
}

/**
 * Returns the number of lines to scroll by, so that the visible lines stay in place. `shifts`
 * contains the number of lines by which each visible line has moved, beginning with the topmost
 * line. The result is the median, which ignores single rows whose order has changed. With groups,
 * the topmost line stays in place, because a group that the user expands moves all lines below it.
 */
export function shiftOf(shifts: readonly number[], grouped: boolean): number {
  if (grouped) return shifts[0] ?? 0;
  return [...shifts].sort((a, b) => a - b)[Math.floor(shifts.length / 2)] ?? 0;
}

/**
 * Returns the window to request for a view: the visible rows, and at least as many again on each
 * side. Rows are thus usually loaded before they are scrolled into view. The current window stays
 * as long as it covers half of these margins.
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
