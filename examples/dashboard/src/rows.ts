import type { Row } from "watchglass";
import type { TableColumn } from "./columns.ts";
import { type Ranges, create, setAttribute, setText, withMarks } from "./dom.ts";
import { rowText } from "./format.ts";

/** The highlights of a row. */
export interface RowMarks {
  active: boolean;
  opened: boolean;
  /** Finds the words of the search in a string. Undefined without a search. */
  found: Finder | undefined;
}

export type Finder = (text: string) => Ranges;

let ids = 0;

/**
 * Draws a row of the table. When the row is scrolled out of view, the table reuses the element for
 * another object.
 */
export class RowElement {
  readonly element = create("div", "row");
  key = "";
  readonly #columns: readonly TableColumn[];
  readonly #cells: HTMLElement[];
  readonly #values: unknown[];
  #row: Row | undefined;
  #found: Finder | undefined;

  constructor(columns: readonly TableColumn[]) {
    this.#columns = columns;
    this.#values = columns.map(() => undefined);
    this.#cells = columns.map((column) => this.element.appendChild(newCell(column)));
    this.element.id = `row-${ids++}`;
    this.element.setAttribute("role", "row");
  }

  /**
   * Shows a row of the table and the index of that row. Cells that changed since the last version
   * of the same object flash.
   */
  update(row: Row, index: number, now: number, marks: RowMarks): void {
    setAttribute(this.element, "aria-rowindex", String(index + 2)); // 1 is the header
    setAttribute(this.element, "aria-selected", String(marks.opened));
    this.element.classList.toggle("active", marks.active);
    this.element.classList.toggle("odd", index % 2 === 1);
    const isFound = marks.found === this.#found;
    if (row === this.#row && isFound) return;
    if (!isFound) this.#values.fill(undefined); // forgets the shown values, so that all cells are written again
    const same = isFound && this.#row !== undefined && row.uid === this.#row.uid && row.key === this.#row.key;
    this.#row = row;
    this.#found = marks.found;
    this.key = row.key;
    setAttribute(this.element, "data-key", row.key);
    setAttribute(this.element, "data-rv", row.resourceVersion);
    this.#columns.forEach((column, i) => this.#write(column, i, row, now, same));
  }

  /** Updates the ages, which change even if the object does not. */
  updateAges(now: number): void {
    this.#columns.forEach((column, i) => {
      if (this.#row && isAging(column, this.#row)) setText(this.#cells[i]!, cellText(column, this.#row, now));
    });
  }

  #write(column: TableColumn, i: number, row: Row, now: number, same: boolean): void {
    const value = column.value(row);
    const changed = value !== this.#values[i];
    if (!changed && !isAging(column, row)) return;
    this.#values[i] = value;
    const cell = this.#cells[i]!;
    if (column.kind === "labels") cell.replaceChildren(...labelChips(row, this.#found));
    else this.#writeText(cell, column, cellText(column, row, now));
    if (column.kind === "status") setAttribute(cell, "data-status", String(value ?? ""));
    if (column.kind === "number") cell.classList.toggle("zero", value === 0);
    if (!same) delete cell.dataset.flash;
    else if (changed) flash(cell);
  }

  /**
   * Writes the text of a cell, and marks the words that the search found. A search matches names
   * and string columns, but not numbers and ages.
   */
  #writeText(cell: HTMLElement, { kind, own }: TableColumn, text: string): void {
    const ranges = kind === "name" || !own || own.column.kind === "string" ? this.#found?.(text) : undefined;
    if (ranges?.length) cell.replaceChildren(...withMarks(text, ranges));
    else if (cell.firstElementChild) cell.replaceChildren(text);
    else setText(cell, text);
  }
}

function cellText(column: TableColumn, row: Row, now: number): string {
  return column.own ? rowText(column.own.column, row, column.own.index, now) : String(column.value(row) ?? "");
}

/** Reports whether the text of a cell changes with time. */
function isAging({ kind, own }: TableColumn, row: Row): boolean {
  return kind === "age" || own?.column.kind === "duration" || (own !== undefined && row.times[own.index] !== undefined);
}

function newCell(column: TableColumn): HTMLElement {
  const cell = create("div", `cell ${column.kind}`);
  cell.setAttribute("role", "gridcell");
  return cell;
}

/**
 * Highlights a cell briefly. It alternates between two names of one animation, because only a
 * changed name restarts the animation.
 */
function flash(cell: HTMLElement): void {
  cell.dataset.flash = cell.dataset.flash === "a" ? "b" : "a";
}

/**
 * Matches the keys of labels that controllers generate. These labels are shown last, where they may
 * be truncated.
 */
const MACHINE_MADE = /(?:-hash|-generation|controller-uid)$/;

function labelChips(row: Row, found: Finder | undefined): HTMLElement[] {
  const labels = Object.entries(row.labels);
  labels.sort(([a], [b]) => Number(MACHINE_MADE.test(a)) - Number(MACHINE_MADE.test(b)));
  return labels.map(([key, value]) => {
    const chip = create("span", "label");
    chip.dataset.label = key;
    chip.dataset.value = value;
    const text = `${key}=${value}`;
    const ranges = found?.(text) ?? [];
    const name = create("span", "label-key");
    name.append(...withMarks(text, ranges, 0, key.length));
    chip.append(name, ...withMarks(text, ranges, key.length));
    return chip;
  });
}
