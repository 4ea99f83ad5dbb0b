/** Returns the element of index.html with this id. */
export function byId<T extends HTMLElement = HTMLElement>(id: string): T {
  const element = document.getElementById(id);
  if (!element) throw new Error(`index.html has no #${id}`);
  return element as T;
}

export function create(tag: string, className: string, text = ""): HTMLElement {
  const element = document.createElement(tag);
  if (className) element.className = className;
  if (text) element.textContent = text;
  return element;
}

export function button(className: string, text: string, onClick: () => void): HTMLButtonElement {
  const element = create("button", className, text) as HTMLButtonElement;
  element.type = "button";
  element.addEventListener("click", onClick);
  return element;
}

/** The ranges of a string to mark, sorted and without overlaps. */
export type Ranges = readonly (readonly [start: number, end: number])[];

/**
 * Returns the part of `text` from `start` to `end`, with mark elements around the ranges. The
 * positions in the ranges are relative to the start of `text`.
 */
export function withMarks(text: string, ranges: Ranges, start = 0, end = text.length): (string | HTMLElement)[] {
  const nodes: (string | HTMLElement)[] = [];
  let at = start;
  for (const [from, to] of ranges) {
    const [first, last] = [Math.max(from, at), Math.min(to, end)];
    if (first >= last) continue;
    nodes.push(text.slice(at, first), create("mark", "", text.slice(first, last)));
    at = last;
  }
  return [...nodes, text.slice(at, end)].filter((node) => node !== "");
}

/**
 * Sets the text of an element if the current text differs. Setting the same text would still make
 * the browser recompute styles.
 */
export function setText(element: HTMLElement, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}

export function setAttribute(element: HTMLElement, name: string, value: string): void {
  if (element.getAttribute(name) !== value) element.setAttribute(name, value);
}
