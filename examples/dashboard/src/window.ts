/**
 * Converts between the scrollbar and a live view's window. Every row has the same height,
 * so positions are proportional to indexes.
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
 * Browsers limit the layout height to about 16 million pixels. Beyond this height, the
 * scrollbar skips rows.
 */
const MAX_HEIGHT = 12_000_000;

export function contentHeight(g: Geometry): number {
  return Math.min(g.total * g.rowHeight, MAX_HEIGHT);
}

/** Pixels of rows per pixel of the scrollbar. It is 1 until the height reaches its limit. */
function scale(g: Geometry): number {
  const scrollable = contentHeight(g) - g.viewport;
  return scrollable > 0 ? (g.total * g.rowHeight - g.viewport) / scrollable : 1;
}

/** Returns the row at the top of the viewport. It is fractional if the row is partly hidden. */
export function firstVisible(scrollTop: number, g: Geometry): number {
  return Math.max(0, (scrollTop * scale(g)) / g.rowHeight);
}

/** Returns the number of rows in a viewport, including partly visible ones. */
export function visibleRows(g: Geometry): number {
  return Math.ceil(g.viewport / g.rowHeight) + 1;
}

/** Returns the nearest scroll position that shows a row. */
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
 * are the moves of the visible lines that still exist, from the top. The median ignores
 * single rows whose order has changed. With groups, the topmost line stays, because a group
 * that the user expands moves all lines below it.
 */
export function shiftOf(shifts: readonly number[], grouped: boolean): number {
  if (grouped) return shifts[0] ?? 0;
  return [...shifts].sort((a, b) => a - b)[Math.floor(shifts.length / 2)] ?? 0;
}

/**
 * Returns the window for a view: the visible rows, with as many again on each side, so
 * that scrolling usually finds its rows loaded. The current window stays while it still
 * covers half of that margin.
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
