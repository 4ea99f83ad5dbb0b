import type { Column, Schema } from "watchglass";
import type { GroupLine, NoteLine } from "./grouping.ts";
import { create, setAttribute, setText } from "./dom.ts";
import { age, count } from "./format.ts";

/** The columns that the lines of groups show. */
export interface GroupFormat {
  /**
   * The columns that rows are grouped by. Undefined for names that are not columns, such as
   * labels.
   */
  by: readonly (Column | undefined)[];
  aggregates: readonly Column[];
}

/**
 * Returns the names that the page offers for grouping, for ViewOptions.groupBy. The result omits
 * the columns in `unique`.
 */
export function groupNames(schema: Schema, unique: ReadonlySet<string>): string[] {
  const columns = schema.columns.filter(({ name, kind, priority }) => kind !== "date" && kind !== "duration" && priority < 255 && !unique.has(name.toLowerCase()));
  return [...(schema.namespaced ? ["namespace"] : []), ...columns.map(({ name }) => name)];
}

/** Returns the columns whose numbers are aggregated, including the age. */
export function aggregateColumns(schema: Schema): Column[] {
  return schema.columns.filter(({ name, kind, priority }) => priority === 0 && (kind === "integer" || kind === "number" || name === "Age")).slice(0, 8);
}

export function groupFormat(schema: Schema, groupBy: readonly string[]): GroupFormat {
  const by = groupBy.map((name) => schema.columns.find((column) => column.name.toLowerCase() === name.toLowerCase()));
  return { by, aggregates: aggregateColumns(schema) };
}

let ids = 0;

/** The element that shows the line of a group, or a note. */
export class GroupElement {
  readonly element = create("div", "row");
  readonly #cell = create("div", "group-cell");
  readonly #arrow = create("span", "group-arrow");
  readonly #title = create("span", "group-title");
  readonly #rows = create("span", "chip-count");
  readonly #numbers = create("span", "group-numbers");
  readonly #format: GroupFormat;
  #line: GroupLine | undefined;

  constructor(format: GroupFormat, columns: number) {
    this.#format = format;
    this.element.id = `group-${ids++}`;
    this.element.setAttribute("role", "row");
    this.#cell.setAttribute("role", "gridcell");
    this.#cell.setAttribute("aria-colspan", String(columns));
    this.#arrow.setAttribute("aria-hidden", "true");
    this.#cell.append(this.#arrow, this.#title, this.#rows, this.#numbers);
    this.element.append(this.#cell);
  }

  update(line: GroupLine | NoteLine, index: number, now: number, active: boolean): void {
    setAttribute(this.element, "aria-rowindex", String(index + 2)); // 1 is the header
    this.element.classList.toggle("active", active);
    const isGroup = "group" in line;
    this.element.classList.toggle("group", isGroup);
    setAttribute(this.element, "aria-level", isGroup ? "1" : "2");
    this.#line = isGroup ? line : undefined;
    if (!isGroup) return setText(this.#title, line.note);
    setAttribute(this.element, "data-group", line.key);
    setAttribute(this.element, "aria-expanded", String(line.expanded));
    setText(this.#title, this.#titleText(line));
    setText(this.#rows, count(line.group.rows));
    this.updateAges(now);
  }

  updateAges(now: number): void {
    if (this.#line) setText(this.#numbers, this.#numbersText(this.#line, now));
  }

  #titleText({ group }: GroupLine): string {
    return this.#format.by.map((column, i) => valueText(column, group.values[i]!)).join(" · ");
  }

  #numbersText({ group }: GroupLine, now: number): string {
    const texts = this.#format.aggregates.map((column, i) => {
      const { count: rows, sum, min, max } = group.aggregates[i] ?? { count: 0, sum: 0, min: 0, max: 0 };
      if (rows === 0) return "";
      if (column.kind === "date") return `newest ${age(now - max)}`;
      return `${column.name} ${count(sum)}${rows > 1 ? ` (${count(min)} to ${count(max)})` : ""}`;
    });
    return texts.filter(Boolean).join("  ·  ");
  }
}

function valueText(column: Column | undefined, value: string): string {
  if (value === "") return "none";
  if (column?.kind === "date") return new Date(Number(value)).toISOString();
  return column?.kind === "duration" ? age(Number(value)) : value;
}
