import type { Row } from "watchglass";
import type { TableColumn } from "./columns.ts";
import { create, setAttribute, setText } from "./dom.ts";
import { rowText } from "./format.ts";

/** How a row is highlighted. */
export interface RowMarks {
  active: boolean;
  opened: boolean;
}

let ids = 0;

/**
 * One row element. It outlives its object, because elements of rows that scroll out are
 * reused.
 */
export class RowElement {
  readonly element = create("div", "row");
  key = "";
  readonly #columns: readonly TableColumn[];
  readonly #cells: HTMLElement[];
  readonly #values: unknown[];
  #row: Row | undefined;

  constructor(columns: readonly TableColumn[]) {
    this.#columns = columns;
    this.#values = columns.map(() => undefined);
    this.#cells = columns.map((column) => this.element.appendChild(newCell(column)));
    this.element.id = `row-${ids++}`;
    this.element.setAttribute("role", "row");
  }

  /**
   * Shows a row at an index. Cells that changed since the last version of the same object
   * flash.
   */
  update(row: Row, index: number, now: number, marks: RowMarks): void {
    setAttribute(this.element, "aria-rowindex", String(index + 2)); // 1 is the header
    setAttribute(this.element, "aria-selected", String(marks.opened));
    this.element.classList.toggle("active", marks.active);
    this.element.classList.toggle("odd", index % 2 === 1);
    if (row === this.#row) return;
    const same = this.#row !== undefined && row.uid === this.#row.uid && row.key === this.#row.key;
    this.#row = row;
    this.key = row.key;
    setAttribute(this.element, "data-key", row.key);
    setAttribute(this.element, "data-rv", row.resourceVersion);
    this.#columns.forEach((column, i) => this.#write(column, i, row, now, same));
  }

  /** Updates the ages, which change without the object. */
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
    if (column.kind === "labels") cell.replaceChildren(...labelChips(row));
    else setText(cell, cellText(column, row, now));
    if (column.kind === "status") setAttribute(cell, "data-status", String(value ?? ""));
    if (column.kind === "number") cell.classList.toggle("zero", value === 0);
    if (!same) delete cell.dataset.flash;
    else if (changed) flash(cell);
  }
}

function cellText(column: TableColumn, row: Row, now: number): string {
  return column.own ? rowText(column.own.column, row, column.own.index, now) : String(column.value(row) ?? "");
}

/** Whether the text of a cell changes with time. */
function isAging({ kind, own }: TableColumn, row: Row): boolean {
  return kind === "age" || own?.column.kind === "duration" || (own !== undefined && row.times[own.index] !== undefined);
}

function newCell(column: TableColumn): HTMLElement {
  const cell = create("div", `cell ${column.kind}`);
  cell.setAttribute("role", "gridcell");
  return cell;
}

/** Alternates between two names of one animation, because only a new name restarts it. */
function flash(cell: HTMLElement): void {
  cell.dataset.flash = cell.dataset.flash === "a" ? "b" : "a";
}

/** Labels that controllers generate. They come last, where they may be truncated. */
const MACHINE_MADE = /(?:-hash|-generation|controller-uid)$/;

function labelChips(row: Row): HTMLElement[] {
  const labels = Object.entries(row.labels);
  labels.sort(([a], [b]) => Number(MACHINE_MADE.test(a)) - Number(MACHINE_MADE.test(b)));
  return labels.map(([key, value]) => {
    const chip = create("span", "label");
    chip.dataset.label = key;
    chip.dataset.value = value;
    chip.append(create("span", "label-key", key), `=${value}`);
    return chip;
  });
}
