import type { Schema } from "watchglass";
import { tableColumns } from "./columns.ts";
import { byId, create } from "./dom.ts";
import { Menu } from "./menu.ts";
import type { PageState } from "./state.ts";

/** The part of the state that determines the columns. */
export type Columns = Pick<PageState, "wide" | "columns">;

/** A menu that shows or hides the columns of the resource. */
export class ColumnChooser {
  readonly #menu = new Menu("Columns", "columns");
  readonly #onChoose: (columns: Columns) => void;
  #schema: Schema | undefined;
  #offered: readonly string[] = [];
  #columns: Columns = { wide: false, columns: [] };

  constructor(onChoose: (columns: Columns) => void) {
    this.#onChoose = onChoose;
    this.#menu.element.hidden = true;
    byId("tools").append(this.#menu.element);
  }

  /** Offers the columns of a schema. The menu is hidden while the schema is unknown. */
  draw(schema: Schema | undefined, columns: Columns): void {
    this.#schema = schema;
    this.#columns = columns;
    this.#menu.element.hidden = !schema;
    if (!schema) return;
    const [all, shown] = [titles(schema, { wide: true, columns: [] }), titles(schema, columns)];
    if (all.join("\n") !== this.#offered.join("\n")) this.#menu.list.replaceChildren(...all.map((title, i) => this.#line(title, i === 0)));
    this.#offered = all;
    for (const box of this.#menu.list.querySelectorAll("input")) box.checked = shown.includes(box.value);
    this.#menu.setNote(columns.columns.length ? "The link has the chosen columns." : "");
  }

  #line(title: string, isName: boolean): HTMLElement {
    const line = create("label", "menu-line");
    const box = create("input", "") as HTMLInputElement;
    box.type = "checkbox";
    box.value = title;
    box.disabled = isName; // a row without its name is useless
    box.addEventListener("change", () => this.#choose(title, box.checked));
    line.append(box, create("span", "menu-value", title));
    return line;
  }

  #choose(title: string, chosen: boolean): void {
    const schema = this.#schema!;
    const shown = titles(schema, this.#columns);
    this.#onChoose(shortest(schema, chosen ? [...shown, title] : shown.filter((other) => other !== title)));
  }
}

/** Returns the titles of the shown columns. */
const titles = (schema: Schema, { wide, columns }: Columns): string[] => tableColumns(schema, wide, columns).map(({ title }) => title);

/**
 * Returns the shortest state that shows the chosen columns. If kubectl shows the same columns, with
 * or without -o wide, the state contains no titles. Otherwise, the titles are in the order of the
 * table.
 */
function shortest(schema: Schema, chosen: readonly string[]): Columns {
  const columns = titles(schema, { wide: true, columns: [] }).filter((title) => chosen.includes(title));
  const same = [false, true].find((wide) => titles(schema, { wide, columns: [] }).join("\n") === columns.join("\n"));
  return same === undefined ? { wide: false, columns } : { wide: same, columns: [] };
}
