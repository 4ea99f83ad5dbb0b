import type { Facet } from "watchglass";
import { byId, create, setAttribute, setText } from "./dom.ts";
import { count } from "./format.ts";

interface Chip {
  element: HTMLButtonElement;
  count: HTMLElement;
}

/** The number of objects per phase. A click selects a phase, and a second click clears it. */
export class Facets {
  readonly #box = byId("chips");
  readonly #onToggle: (value: string) => void;
  #chips = new Map<string, Chip>();

  constructor(onToggle: (value: string) => void) {
    this.#onToggle = onToggle;
  }

  /** `counts` cover the whole query except the phase, so every phase keeps its chip. */
  draw(counts: Facet["values"], chosen: string | undefined): void {
    const values = counts.map(([value]) => value);
    if (chosen !== undefined && !values.includes(chosen)) counts = [...counts, [chosen, 0]];
    this.#keepOnly(new Set(counts.map(([value]) => value)));
    for (const [value, rows] of counts) {
      const chip = this.#chips.get(value) ?? this.#add(value);
      setText(chip.count, count(rows));
      setAttribute(chip.element, "aria-pressed", String(value === chosen));
    }
  }

  clear(): void {
    this.#keepOnly(new Set());
  }

  #keepOnly(values: Set<string>): void {
    for (const [value, chip] of this.#chips) {
      if (values.has(value)) continue;
      chip.element.remove();
      this.#chips.delete(value);
    }
  }

  #add(value: string): Chip {
    const element = create("button", "chip") as HTMLButtonElement;
    element.type = "button";
    element.dataset.facet = value;
    element.dataset.status = value;
    const number = create("span", "chip-count");
    element.append(create("span", "chip-name", value || "none"), number);
    element.addEventListener("click", () => this.#onToggle(value));
    const chip = { element, count: number };
    this.#box.insertBefore(element, this.#successor(value));
    this.#chips.set(value, chip);
    return chip;
  }

  #successor(value: string): Element | null {
    return [...this.#box.children].find((other) => (other as HTMLElement).dataset.facet! > value) ?? null;
  }
}
