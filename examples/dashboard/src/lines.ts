import { create } from "./dom.ts";

/** A part of a line with one color. */
export interface Token {
  text: string;
  kind: "plain" | "key" | "string" | "literal";
}

export type Line = Token[];

export function lineText(line: Line): string {
  return line.map((token) => token.text).join("");
}

/**
 * Shows the lines of a document. An update replaces only the lines that differ, so a text selection
 * in other lines survives.
 */
export class LineView {
  readonly #box: HTMLElement;
  #texts: string[] = [];

  constructor(box: HTMLElement) {
    this.#box = box;
  }

  get text(): string {
    return `${this.#texts.join("\n")}\n`;
  }

  replace(lines: Line[]): void {
    this.#texts = lines.map(lineText);
    this.#box.replaceChildren(...lines.map((line) => lineElement(line, false)));
  }

  /** Shows a new version of the document, and briefly highlights new lines. */
  update(lines: Line[]): void {
    const old = this.#texts;
    const texts = lines.map(lineText);
    const { head, tail } = common(old, texts);
    this.#texts = texts;
    if (old.length === texts.length) return this.#replaceEach(old, lines, head, tail);
    const before = new Set(old.slice(head, old.length - tail));
    const fresh = lines.slice(head, lines.length - tail).map((line) => lineElement(line, !before.has(lineText(line))));
    const gone = [...this.#box.children].slice(head, old.length - tail);
    const next = this.#box.children[old.length - tail] ?? null;
    for (const element of gone) element.remove();
    for (const element of fresh) this.#box.insertBefore(element, next);
  }

  /**
   * Replaces the lines that differ. The old and the new document must have the same number of
   * lines, which is the common case.
   */
  #replaceEach(old: string[], lines: Line[], head: number, tail: number): void {
    for (let i = head; i < lines.length - tail; i++) {
      if (old[i] !== this.#texts[i]) this.#box.children[i]!.replaceWith(lineElement(lines[i]!, true));
    }
  }
}

/** Returns the number of equal lines at the start and at the end. */
function common(a: string[], b: string[]): { head: number; tail: number } {
  const shorter = Math.min(a.length, b.length);
  let head = 0;
  while (head < shorter && a[head] === b[head]) head++;
  let tail = 0;
  while (tail < shorter - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++;
  return { head, tail };
}

function lineElement(line: Line, changed: boolean): HTMLElement {
  const element = create("div", changed ? "line changed" : "line");
  for (const token of line) {
    element.append(token.kind === "plain" ? token.text : create("span", token.kind, token.text));
  }
  return element;
}
