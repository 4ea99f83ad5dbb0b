import type { Row, ViewSnapshot } from "watchglass";
import { type TableColumn, layout, orderOf } from "./columns.ts";
import { byId, create, setAttribute } from "./dom.ts";
import { schedule } from "./frame.ts";
import { type Finder, RowElement } from "./rows.ts";
import { type Geometry, type Window, contentHeight, firstVisible, scrollTopFor, visibleRows, wantedWindow } from "./window.ts";

export interface TableEvents {
  /** A click on a header. With `add`, the other sort keys stay. */
  onSort(column: TableColumn, add: boolean): void;
  onOpen(key: string): void;
  onLabel(key: string, value: string): void;
  /** The range of rows that the snapshot should contain has changed. */
  onWindow(window: Window): void;
  /** Rows first to last (exclusive) are visible. */
  onRange(first: number, last: number, total: number): void;
}

/** Number of rows drawn beyond the edges, so that scrolling within a frame shows no gap. */
const OVERDRAW = 4;

/**
 * A table that draws the visible rows of a live view. It moves the view's window with the
 * scrollbar and never requests more rows.
 */
export class Table {
  readonly #grid = byId("grid");
  readonly #head = byId("head");
  readonly #space = byId("space");
  readonly #body = byId("rows");
  readonly #events: TableEvents;
  readonly #render = () => this.#draw();
  #columns: readonly TableColumn[] = [];
  #snapshot: ViewSnapshot | undefined;
  #drawn = new Map<string, RowElement>();
  #spare: RowElement[] = [];
  #window: Window = { offset: 0, limit: 0 };
  /**
   * The row with the keyboard focus. The key follows the object, and the index is its
   * last known position.
   */
  #active = { index: -1, key: "" };
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

  /** Marks the texts that a search found. */
  setSearch(found: Finder | undefined): void {
    this.#found = found;
    schedule(this.#render);
  }

  setSnapshot(snapshot: ViewSnapshot | undefined): void {
    this.#snapshot = snapshot;
    schedule(this.#render);
  }

  setOpened(key: string): void {
    this.#opened = key;
    schedule(this.#render);
  }

  /** Scrolls to the first row for a new query, with a window of this size. */
  toTop(window: Window): void {
    this.#window = window;
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
    const { scrollTop } = this.#grid; // once, before any write, because a read after a write forces a layout
    const first = firstVisible(scrollTop, g);
    this.#follow(first, g);
    this.#drawRows(scrollTop, first, g);
    this.#space.style.height = `${contentHeight(g)}px`;
    setAttribute(this.#grid, "aria-rowcount", String(total + 1));
    const last = Math.min(total, Math.floor(first + g.viewport / g.rowHeight));
    this.#events.onRange(Math.min(Math.round(first), last), last, total);
  }

  #follow(first: number, g: Geometry): void {
    if (!this.#snapshot) return;
    const window = wantedWindow(first, g, this.#window);
    if (window === this.#window) return;
    this.#window = window;
    this.#events.onWindow(window);
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
      const drawn = this.#rowFor(row);
      const active = from + i === this.#active.index;
      drawn.update(row, from + i, now, { active, opened: row.key === this.#opened, found: this.#found });
      if (active) setAttribute(this.#grid, "aria-activedescendant", drawn.element.id);
      place = this.#putAt(place, drawn.element);
    });
    this.#body.style.transform = `translateY(${scrollTop + (from - first) * g.rowHeight}px)`;
  }

  /** Removes the elements of rows that are no longer visible, for reuse. */
  #recycle(shown: readonly Row[]): void {
    const keys = new Set(shown.map((row) => row.key));
    for (const [key, row] of this.#drawn) {
      if (keys.has(key)) continue;
      this.#drawn.delete(key);
      this.#spare.push(row);
      row.element.remove();
    }
  }

  /**
   * Keeps rows in reading order with few moves of elements. It skips a row that moved
   * down, and moves it when it reaches the row's position.
   */
  #putAt(place: Element | null, element: HTMLElement): Element | null {
    if (element === place || (place && element === place.nextElementSibling)) return element.nextElementSibling;
    this.#body.insertBefore(element, place);
    return place;
  }

  #rowFor(row: Row): RowElement {
    let drawn = this.#drawn.get(row.key);
    if (!drawn) {
      drawn = this.#spare.pop() ?? new RowElement(this.#columns);
      this.#drawn.set(row.key, drawn);
    }
    return drawn;
  }

  /**
   * The active row follows its object. If the object is deleted, its position stays
   * active.
   */
  #keepActive(rows: readonly Row[], offset: number): void {
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
    else if ((event.key === "Enter" || event.key === " ") && key) this.#events.onOpen(key);
    else return;
    event.preventDefault();
  }

  /** Shows the focused row when the user tabs into the table. */
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
    this.#activate(Number(row.getAttribute("aria-rowindex")) - 2);
    this.#events.onOpen(row.dataset.key!);
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

/** Shows the whole text of a truncated cell on hover. */
function explainCut(target: HTMLElement): void {
  const cell = target.closest<HTMLElement>(".cell");
  if (cell) cell.title = cell.scrollWidth > cell.clientWidth ? (cell.textContent ?? "") : "";
}
