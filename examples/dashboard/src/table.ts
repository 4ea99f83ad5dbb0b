import type { Anchor } from "watchglass";
import { type TableColumn, layout, orderOf } from "./columns.ts";
import { byId, create, setAttribute } from "./dom.ts";
import { schedule } from "./frame.ts";
import { type Line, type Lines, idOfKey } from "./grouping.ts";
import { GroupElement, type GroupFormat } from "./grouprow.ts";
import { type Finder, RowElement } from "./rows.ts";
import { type Geometry, type Window, contentHeight, firstVisible, scrollTopFor, shiftOf, shifted, visibleRows, wantedWindow } from "./window.ts";

export interface TableEvents {
  /** Called for a click on a header. With `add`, the other sort keys stay. */
  onSort(column: TableColumn, add: boolean): void;
  onOpen(key: string): void;
  onLabel(key: string, value: string): void;
  /**
   * Called when the range of rows that the snapshot should contain has changed. With an anchor, the
   * range should move with the anchor's row.
   */
  onWindow(window: Window, anchor: Anchor | undefined): void;
  /** Called with the range of visible rows; `last` is exclusive. */
  onRange(first: number, last: number, total: number): void;
  /** Called when the user expands or collapses a group. */
  onExpand(id: string, expand: boolean): void;
  /** Returns the index of the last group line at or above `index`, or -1 if there is none. */
  parentOf(index: number): number;
}

/**
 * The number of rows to draw beyond each edge, so that scrolling shows no gap before the next
 * frame.
 */
const OVERDRAW = 4;

/**
 * A table that draws only the visible lines, which are rows of a live view, or groups with their
 * rows. Scrolling moves the window of lines. Lines outside of the window are not requested.
 */
export class Table {
  readonly #grid = byId("grid");
  readonly #head = byId("head");
  readonly #space = byId("space");
  readonly #body = byId("rows");
  readonly #events: TableEvents;
  readonly #render = () => this.#draw();
  #columns: readonly TableColumn[] = [];
  #snapshot: Lines | undefined;
  #groups: GroupFormat | undefined;
  #drawn = new Map<string, RowElement | GroupElement>();
  #spare: RowElement[] = [];
  #window: Window = { offset: 0, limit: 0 };
  #anchored = false;
  /**
   * The row with the keyboard focus. The key identifies the object, and the index is its
   * last known position.
   */
  #active = { index: -1, key: "" };
  /** The lines that were visible when the table was last drawn, and their indexes, by key. */
  #visible = new Map<string, { index: number; line: Line }>();
  #opened = "";
  #sort = "";
  #found: Finder | undefined;
  #viewport = 0;
  #rowHeight = 1;

  constructor(events: TableEvents) {
    this.#events = events;
    this.#grid.addEventListener("scroll", () => schedule(this.#render), { passive: true });
    this.#grid.addEventListener("keydown", (event) => this.#onKey(event));
    this.#grid.addEventListener("focus", () => this.#onFocus());
    this.#body.addEventListener("click", (event) => this.#onClick(event));
    this.#body.addEventListener("mouseover", (event) => explainCut(event.target as HTMLElement));
    new ResizeObserver(() => this.#measure()).observe(this.#grid);
  }

  get limit(): number {
    return wantedWindow(0, this.#geometry(0), { offset: 0, limit: 0 }).limit;
  }

  setColumns(columns: readonly TableColumn[]): void {
    this.#columns = columns;
    this.#drawn.clear();
    this.#spare = [];
    this.#body.replaceChildren();
    const { tracks, width } = layout(columns);
    this.#grid.style.setProperty("--columns", tracks);
    this.#grid.style.setProperty("--table-width", `${width}px`);
    setAttribute(this.#grid, "aria-colcount", String(columns.length));
    this.#head.replaceChildren(...columns.map((column) => this.#headerCell(column)));
    this.setSort(this.#sort);
    this.#measure();
  }

  /** Marks the columns that determine the order of the rows, with their positions if there are several. */
  setSort(sort: string): void {
    this.#sort = sort;
    const orders = this.#columns.map((column) => orderOf(column, sort));
    const several = orders.filter(Boolean).length > 1;
    for (const [i, order] of orders.entries()) {
      const header = this.#head.children[i] as HTMLElement;
      setAttribute(header, "aria-sort", order ? (order.descending ? "descending" : "ascending") : "none");
      const control = header.firstElementChild as HTMLElement | null;
      if (order && several) setAttribute(control!, "data-order", String(order.index + 1));
      else control?.removeAttribute("data-order");
    }
  }

  /**
   * Sets the function that finds the words of the search in a string. The table marks these words.
   */
  setSearch(found: Finder | undefined): void {
    this.#found = found;
    schedule(this.#render);
  }

  /** Sets the format of groups. Undefined if the rows are not grouped. */
  setGroups(groups: GroupFormat | undefined): void {
    this.#groups = groups;
    setAttribute(this.#grid, "role", groups ? "treegrid" : "grid");
    this.setColumns(this.#columns);
  }

  setSnapshot(snapshot: Lines | undefined): void {
    this.#snapshot = snapshot;
    if (snapshot) this.#window = { ...this.#window, offset: snapshot.offset };
    if (snapshot?.anchored === false) this.#anchored = false;
    schedule(this.#render);
  }

  setOpened(key: string): void {
    this.#opened = key;
    schedule(this.#render);
  }

  /** Scrolls to the first row and replaces the window, for a new query. */
  toTop(window: Window): void {
    this.#window = window;
    this.#anchored = false;
    this.#visible.clear();
    this.#active = { index: -1, key: "" };
    this.#grid.scrollTop = 0;
    schedule(this.#render);
  }

  updateAges(): void {
    const now = Date.now();
    for (const row of this.#drawn.values()) row.updateAges(now);
  }

  focus(): void {
    this.#grid.focus({ preventScroll: true });
  }

  #draw(): void {
    const total = this.#snapshot?.total ?? 0;
    const g = this.#geometry(total);
    let { scrollTop } = this.#grid; // read once, before any write, because a read after a write forces a layout
    const shift = scrollTop > 0 ? this.#shift() : 0;
    this.#space.style.height = `${contentHeight(g)}px`;
    if (shift) {
      this.#grid.scrollTop = shifted(scrollTop, shift, g);
      ({ scrollTop } = this.#grid); // the browser rounds and limits scroll positions
    }
    const first = firstVisible(scrollTop, g);
    this.#follow(first, g, scrollTop > 0);
    this.#drawRows(scrollTop, first, g);
    this.#keepVisible(first, g);
    setAttribute(this.#grid, "aria-rowcount", String(total + 1));
    const last = Math.min(total, Math.floor(first + g.viewport / g.rowHeight));
    this.#events.onRange(Math.min(Math.round(first), last), last, total);
  }

  /**
   * Returns the number of lines by which the visible lines have moved since the table was last
   * drawn.
   */
  #shift(): number {
    const { rows, offset } = this.#snapshot ?? { rows: [], offset: 0 };
    const shifts: number[] = [];
    const unchanged: number[] = []; // without changed rows, which may have moved because of their change
    rows.forEach((line, i) => {
      const before = this.#visible.get(line.key);
      if (!before) return;
      const shift = offset + i - before.index;
      shifts.push(shift);
      if (!("uid" in line) || line === before.line) unchanged.push(shift);
    });
    return shiftOf(unchanged.length > 0 ? unchanged : shifts, this.#groups !== undefined);
  }

  #keepVisible(first: number, g: Geometry): void {
    this.#visible.clear();
    for (let index = Math.ceil(first); index < first + g.viewport / g.rowHeight; index++) {
      const line = this.#lineAt(index);
      if (line) this.#visible.set(line.key, { index, line });
    }
  }

  /**
   * Moves the window to the visible rows. If the table is not at its top, the window is anchored to
   * the topmost visible row. The window then still contains the visible rows when they move.
   */
  #follow(first: number, g: Geometry, scrolled: boolean): void {
    if (!this.#snapshot) return;
    const window = wantedWindow(first, g, this.#window);
    const top = Math.ceil(first);
    const topmost = scrolled ? this.#lineAt(top) : undefined;
    const line = topmost && "note" in topmost ? undefined : topmost;
    if (window === this.#window && (scrolled ? this.#anchored || !line : !this.#anchored)) return;
    this.#window = window;
    this.#anchored = line !== undefined;
    this.#events.onWindow(window, line && { key: line.key, before: top - window.offset });
  }

  #drawRows(scrollTop: number, first: number, g: Geometry): void {
    const { rows, offset } = this.#snapshot ?? { rows: [], offset: 0 };
    const from = Math.max(offset, Math.floor(first) - OVERDRAW);
    const to = Math.min(offset + rows.length, Math.floor(first) + visibleRows(g) + OVERDRAW);
    const shown = to > from ? rows.slice(from - offset, to - offset) : [];
    this.#keepActive(rows, offset);
    this.#recycle(shown);
    const now = Date.now();
    let place = this.#body.firstElementChild;
    shown.forEach((row, i) => {
      const active = from + i === this.#active.index;
      const drawn = this.#drawLine(row, from + i, now, active);
      if (active) setAttribute(this.#grid, "aria-activedescendant", drawn.element.id);
      place = this.#putAt(place, drawn.element);
    });
    this.#body.style.transform = `translateY(${scrollTop + (from - first) * g.rowHeight}px)`;
  }

  /** Removes the elements of rows that are no longer visible, for reuse. */
  #recycle(shown: readonly Line[]): void {
    const keys = new Set(shown.map((row) => row.key));
    for (const [key, row] of this.#drawn) {
      if (keys.has(key)) continue;
      this.#drawn.delete(key);
      if (row instanceof RowElement) this.#spare.push(row);
      row.element.remove();
    }
  }

  /**
   * Puts an element at `place`, with few moves. Returns the place of the next element. If the
   * element at `place` has moved down, it is skipped here, and moved when its new position is
   * reached.
   */
  #putAt(place: Element | null, element: HTMLElement): Element | null {
    if (element === place || (place && element === place.nextElementSibling)) return element.nextElementSibling;
    this.#body.insertBefore(element, place);
    return place;
  }

  #drawLine(line: Line, index: number, now: number, active: boolean): RowElement | GroupElement {
    let drawn = this.#drawn.get(line.key);
    if ("uid" in line) {
      drawn = drawn instanceof RowElement ? drawn : (this.#spare.pop() ?? new RowElement(this.#columns));
      drawn.update(line, index, now, { active, opened: line.key === this.#opened, found: this.#found });
      if (this.#groups) setAttribute(drawn.element, "aria-level", "2");
    } else {
      drawn = drawn instanceof GroupElement ? drawn : new GroupElement(this.#groups ?? { by: [], aggregates: [] }, this.#columns.length);
      drawn.update(line, index, now, active);
    }
    this.#drawn.set(line.key, drawn);
    return drawn;
  }

  /**
   * Updates the index of the active row to the position of its object. If the object is no longer
   * in the window, the index stays, and the row at this index becomes the active one.
   */
  #keepActive(rows: readonly Line[], offset: number): void {
    if (this.#active.index < 0) return;
    const found = rows.findIndex((row) => row.key === this.#active.key);
    if (found >= 0) this.#active.index = offset + found;
    else this.#active.key = rows[this.#active.index - offset]?.key ?? "";
  }

  #activate(index: number): void {
    const snapshot = this.#snapshot;
    if (!snapshot || snapshot.total === 0) return;
    const at = Math.max(0, Math.min(snapshot.total - 1, index));
    this.#active = { index: at, key: snapshot.rows[at - snapshot.offset]?.key ?? "" };
    this.#grid.scrollTop = scrollTopFor(at, this.#grid.scrollTop, this.#geometry(snapshot.total));
    schedule(this.#render);
  }

  #onKey(event: KeyboardEvent): void {
    if (event.target !== this.#grid || event.ctrlKey || event.metaKey || event.altKey) return;
    const { index, key } = this.#active;
    const page = Math.max(1, visibleRows(this.#geometry(0)) - 2);
    const moves: Record<string, number> = {
      ArrowDown: index + 1, ArrowUp: index - 1, PageDown: index + page, PageUp: index - page, Home: 0, End: Infinity,
    };
    const move = moves[event.key];
    if (move !== undefined) this.#activate(move);
    else if (event.key === "ArrowRight" || event.key === "ArrowLeft") {
      if (!this.#groups) return; // without groups, the arrow keys scroll the table sideways
      this.#expandActive(event.key === "ArrowRight");
    } else if ((event.key === "Enter" || event.key === " ") && key) this.#open(index, key);
    else return;
    event.preventDefault();
  }

  #lineAt(index: number): Line | undefined {
    return this.#snapshot?.rows[index - this.#snapshot.offset];
  }

  /** Opens an object, or expands or collapses a group. */
  #open(index: number, key: string): void {
    const line = this.#lineAt(index);
    if (line && "group" in line) this.#events.onExpand(idOfKey(line.key), !line.expanded);
    else if (!line || "uid" in line) this.#events.onOpen(key);
  }

  /**
   * Handles the right and left arrow keys in groups. These keys expand or collapse the active
   * group. Right on an expanded group moves to its first row, and left on a row moves to its group.
   */
  #expandActive(expand: boolean): void {
    const { index } = this.#active;
    const line = this.#lineAt(index);
    if (line && "group" in line) {
      if (line.expanded !== expand) this.#events.onExpand(idOfKey(line.key), expand);
      else if (expand) this.#activate(index + 1);
    } else if (!expand && index >= 0) this.#activate(this.#events.parentOf(index));
  }

  /** Activates the first visible row when the user tabs into the table and no row is active. */
  #onFocus(): void {
    if (this.#active.index < 0 && this.#grid.matches(":focus-visible")) {
      this.#activate(Math.ceil(firstVisible(this.#grid.scrollTop, this.#geometry(this.#snapshot?.total ?? 0))));
    }
  }

  #onClick(event: MouseEvent): void {
    const target = event.target as HTMLElement;
    const label = target.closest<HTMLElement>(".label");
    if (label) return this.#events.onLabel(label.dataset.label!, label.dataset.value!);
    const row = target.closest<HTMLElement>(".row");
    if (!row || !getSelection()?.isCollapsed) return; // a text selection is not a click
    const index = Number(row.getAttribute("aria-rowindex")) - 2;
    const line = this.#lineAt(index);
    this.#activate(index);
    if (row.dataset.group && line?.key === row.dataset.group) this.#open(index, line.key);
    else if (row.dataset.key) this.#events.onOpen(row.dataset.key);
  }

  #headerCell(column: TableColumn): HTMLElement {
    const cell = create("div", `cell ${column.kind}`);
    cell.setAttribute("role", "columnheader");
    if (!column.sort) {
      cell.textContent = column.title;
      return cell;
    }
    const control = create("button", "sort", column.title) as HTMLButtonElement;
    control.type = "button";
    control.dataset.sort = column.sort;
    control.title = "Shift-click to sort by several columns";
    control.addEventListener("click", (event) => this.#events.onSort(column, event.shiftKey));
    cell.append(control);
    return cell;
  }

  #geometry(total: number): Geometry {
    return { rowHeight: this.#rowHeight, viewport: this.#viewport, total };
  }

  #measure(): void {
    this.#rowHeight = parseFloat(getComputedStyle(this.#grid).getPropertyValue("--row-height")) || 34;
    this.#viewport = Math.max(0, this.#grid.clientHeight - this.#head.offsetHeight);
    schedule(this.#render);
  }
}

/** Sets the tooltip of a cell to its text if the text is truncated. */
function explainCut(target: HTMLElement): void {
  const cell = target.closest<HTMLElement>(".cell");
  if (cell) cell.title = cell.scrollWidth > cell.clientWidth ? (cell.textContent ?? "") : "";
}
