import { byId, create } from "./dom.ts";
import { Menu } from "./menu.ts";

/** The maximum number of names that rows are grouped by. */
const MAX_NAMES = 2;

/**
 * A menu of the columns to group the rows by. The user can choose one or two. Rows are grouped in
 * the order of the choices.
 */
export class GroupChooser {
  readonly #menu = new Menu("Group by", "group");
  readonly #onChoose: (groupBy: string[]) => void;
  #names: readonly string[] = [];
  #chosen: readonly string[] = [];

  constructor(onChoose: (groupBy: string[]) => void) {
    this.#onChoose = onChoose;
    this.#menu.element.hidden = true;
    byId("tools").append(this.#menu.element);
  }

  /**
   * Offers names to group by, including the chosen ones. The menu is hidden if `names` is empty,
   * for example while the columns are unknown.
   */
  draw(names: readonly string[], chosen: readonly string[]): void {
    this.#chosen = chosen;
    this.#menu.element.hidden = names.length === 0;
    const all = names.length ? [...new Set([...names, ...chosen])] : [];
    if (all.join("\n") !== this.#names.join("\n")) this.#menu.list.replaceChildren(...all.map((name) => this.#line(name)));
    this.#names = all;
    for (const box of this.#menu.list.querySelectorAll("input")) {
      box.checked = chosen.includes(box.value);
      box.disabled = !box.checked && chosen.length >= MAX_NAMES;
    }
    this.#menu.setChosen(chosen.length);
    this.#menu.setNote(chosen.length >= MAX_NAMES ? `By ${chosen.join(", then ")}.` : "");
  }

  #line(name: string): HTMLElement {
    const line = create("label", "menu-line");
    const box = create("input", "") as HTMLInputElement;
    box.type = "checkbox";
    box.value = name;
    box.addEventListener("change", () => this.#onChoose(box.checked ? [...this.#chosen, name] : this.#chosen.filter((other) => other !== name)));
    line.append(box, create("span", "menu-value", name.charAt(0).toUpperCase() + name.slice(1)));
    return line;
  }
}
