/** Returns a new element with attributes and children. Text is not parsed as HTML. */
export function create<Name extends keyof HTMLElementTagNameMap>(name: Name, attributes: Record<string, string> = {}, ...children: (Node | string)[]): HTMLElementTagNameMap[Name] {
  const element = document.createElement(name);
  for (const [attribute, value] of Object.entries(attributes)) element.setAttribute(attribute, value);
  element.append(...children);
  return element;
}

/** Sets the text of an element only if it differs, so that a selection in the text survives. */
export function setText(element: Element, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}

/** The color of a cell. */
export type Tone = "" | "good" | "warn" | "bad";

/** The contents of a cell. */
export type Cell = string | number | { text: string; tone: Tone };

export interface Column {
  title: string;
  /** Whether the cells are numbers, which are end-aligned. */
  number?: boolean;
}

/** A table whose rows are updated in place. A table without rows shows a message instead. */
export class Table {
  readonly element: HTMLElement;
  readonly #columns: readonly Column[];
  readonly #table: HTMLTableElement;
  readonly #body = create("tbody");
  readonly #none: HTMLElement;

  constructor(caption: string, columns: readonly Column[], none: string) {
    this.#columns = columns;
    const titles = columns.map(({ title, number }) => create("th", { scope: "col", class: number ? "number" : "" }, title));
    this.#table = create("table", { "aria-label": caption }, create("thead", {}, create("tr", {}, ...titles)), this.#body);
    this.#none = create("p", { class: "none" }, none);
    this.element = create("div", {}, this.#table, this.#none);
    this.draw([]);
  }

  draw(rows: readonly (readonly Cell[])[]): void {
    this.#table.hidden = rows.length === 0;
    this.#none.hidden = rows.length > 0;
    while (this.#body.rows.length > rows.length) this.#body.deleteRow(-1);
    for (const [i, cells] of rows.entries()) {
      const row = this.#body.rows[i] ?? this.#addRow();
      for (const [j, cell] of cells.entries()) drawCell(row.cells[j]!, cell);
    }
  }

  #addRow(): HTMLTableRowElement {
    const row = this.#body.insertRow();
    for (const { number } of this.#columns) row.insertCell().className = number ? "number" : "";
    return row;
  }
}

function drawCell(element: HTMLElement, cell: Cell): void {
  const { text, tone } = typeof cell === "object" ? cell : { text: typeof cell === "number" ? cell.toLocaleString("en-US") : cell, tone: "" as const };
  setText(element, text);
  if (element.title !== text) element.title = text;
  if ((element.dataset["tone"] ?? "") !== tone) element.dataset["tone"] = tone;
}
