import type { Facet } from "watchglass";
import { byId, create, setAttribute, setText } from "./dom.ts";
import { count } from "./format.ts";
import { Menu } from "./menu.ts";
import type { PageState } from "./state.ts";

/** A value of a facet: a chip or a line of a menu. */
interface Entry {
  element: HTMLElement;
  count: HTMLElement;
  choose(chosen: boolean): void;
}

type Toggle = (name: string, value: string, chosen: boolean) => void;

/**
 * Counts of rows by value, for several columns. The values of the first column are shown as chips,
 * and those of every column in a menu. A click on a value filters the rows by this value, and a
 * second click removes this filter.
 */
export class Facets {
  readonly #chips: Values;
  readonly #menus = byId("facet-menus");
  readonly #clear = byId<HTMLButtonElement>("facet-clear");
  readonly #onToggle: Toggle;
  #facets: { name: string; menu: Menu; values: Values }[] = [];
  #names: readonly string[] = [];

  constructor(onToggle: Toggle, onClear: () => void) {
    this.#onToggle = onToggle;
    this.#chips = new Values(byId("chips"), (value) => chip(value, (chosen) => this.#onToggle(this.#names[0]!, value, chosen)));
    this.#clear.addEventListener("click", onClear);
  }

  /** Replaces the facets. The new facets show no counts until the next draw. */
  setNames(names: readonly string[]): void {
    if (names.join("\n") === this.#names.join("\n")) return;
    this.#names = names;
    this.#chips.draw([], []);
    setAttribute(byId("chips"), "aria-label", names[0] ? `Count by ${title(names[0])}` : "Count");
    this.#facets = names.map((name) => {
      const menu = new Menu(title(name), name);
      const values = new Values(menu.list, (value) => line(value, (chosen) => this.#onToggle(name, value, chosen)));
      return { name, menu, values };
    });
    this.#menus.replaceChildren(...this.#facets.map(({ menu }) => menu.element));
  }

  draw(counts: Readonly<Record<string, Facet>>, chosen: PageState["facets"]): void {
    this.#clear.disabled = Object.keys(chosen).length === 0;
    for (const [i, { name, menu, values }] of this.#facets.entries()) {
      const own = Object.hasOwn(chosen, name) ? chosen[name]! : [];
      const facet = counts[name];
      const shown = facet ? withChosen(facet.values, own) : [];
      menu.setChosen(own.length);
      menu.setNote(facet?.otherValues ? `${count(facet.otherValues)} more values in ${count(facet.otherRows)} rows` : "");
      values.draw(shown, own);
      if (i === 0) this.#chips.draw(shown, own);
    }
  }
}

/** Returns the values of a facet, and the chosen values that no row has, with a count of 0. */
function withChosen(values: Facet["values"], chosen: readonly string[]): Facet["values"] {
  const absent = chosen.filter((value) => !values.some(([other]) => other === value));
  return absent.length ? [...values, ...absent.map((value) => [value, 0] as const)] : values;
}

/** Compares numbers in strings by value, so that node-2 precedes node-10. */
const natural = new Intl.Collator("en", { numeric: true });

/** The values of a facet in a box, sorted by value. A value keeps its element across updates. */
class Values {
  readonly #box: HTMLElement;
  readonly #create: (value: string) => Entry;
  #entries = new Map<string, Entry>();

  constructor(box: HTMLElement, create: (value: string) => Entry) {
    this.#box = box;
    this.#create = create;
  }

  draw(values: Facet["values"], chosen: readonly string[]): void {
    const current = new Set(values.map(([value]) => value));
    for (const [value, { element }] of this.#entries) {
      if (current.has(value)) continue;
      element.remove();
      this.#entries.delete(value);
    }
    for (const [value, rows] of values) {
      const entry = this.#entries.get(value) ?? this.#add(value);
      setText(entry.count, count(rows));
      entry.choose(chosen.includes(value));
    }
  }

  #add(value: string): Entry {
    const entry = this.#create(value);
    entry.element.dataset.facet = value;
    const successor = [...this.#box.children].find((other) => natural.compare((other as HTMLElement).dataset.facet!, value) > 0) ?? null;
    this.#box.insertBefore(entry.element, successor);
    this.#entries.set(value, entry);
    return entry;
  }
}

function chip(value: string, onToggle: (chosen: boolean) => void): Entry {
  const element = create("button", "chip") as HTMLButtonElement;
  element.type = "button";
  element.dataset.status = value;
  const number = create("span", "chip-count");
  element.append(create("span", "chip-name", value || "none"), number);
  element.addEventListener("click", () => onToggle(element.getAttribute("aria-pressed") !== "true"));
  const choose = (chosen: boolean) => {
    const isNew = chosen && element.getAttribute("aria-pressed") !== "true";
    setAttribute(element, "aria-pressed", String(chosen));
    if (isNew) element.scrollIntoView({ block: "nearest", inline: "nearest" });
  };
  return { element, count: number, choose };
}

function line(value: string, onToggle: (chosen: boolean) => void): Entry {
  const element = create("label", "menu-line");
  const box = create("input", "") as HTMLInputElement;
  box.type = "checkbox";
  const number = create("span", "chip-count");
  element.append(box, create("span", "menu-value", value || "none"), number);
  box.addEventListener("change", () => onToggle(box.checked));
  return { element, count: number, choose: (chosen) => { box.checked = chosen; } };
}

/** Capitalizes a name such as "namespace", for the heading of a column. */
const title = (name: string): string => name.charAt(0).toUpperCase() + name.slice(1);
