import { button, create, setAttribute, setText } from "./dom.ts";

/** A button that opens a list below it, over the page. Escape and clicks outside close the list. */
export class Menu {
  readonly element = create("div", "menu");
  /** The element that contains the lines of the list. Users of the class add the lines. */
  readonly list = create("div", "menu-lines");
  readonly #button: HTMLButtonElement;
  readonly #panel = create("div", "menu-panel");
  readonly #chosen = create("span", "menu-chosen");
  readonly #note = create("p", "muted");
  readonly #onPointer = ({ target }: Event) => {
    if (!this.element.contains(target as Node)) this.#show(false);
  };

  constructor(title: string, name: string) {
    this.#button = button("button", title, () => this.#show(Boolean(this.#panel.hidden)));
    this.#button.append(this.#chosen);
    this.#button.dataset.menu = name;
    this.#panel.setAttribute("role", "group");
    this.#panel.setAttribute("aria-label", title);
    this.#panel.append(this.list, this.#note);
    this.element.append(this.#button, this.#panel);
    this.#show(false);
    this.element.addEventListener("keydown", (event) => this.#onKey(event));
    this.list.addEventListener("click", ({ target }) => {
      if ((target as Element).closest("a")) this.#show(false);
    });
    this.element.addEventListener("focusout", ({ relatedTarget }) => {
      // A click on a label first blurs the focused element, with no relatedTarget. The menu must
      // stay open in this case.
      if (relatedTarget && !this.element.contains(relatedTarget as Node)) this.#show(false);
    });
  }

  close(): void {
    this.#show(false);
  }

  /** Shows the number of chosen values beside the title. */
  setChosen(count: number): void {
    setText(this.#chosen, count ? String(count) : "");
  }

  /** Shows a text below the list, or nothing if `text` is empty. */
  setNote(text: string): void {
    setText(this.#note, text);
    this.#note.hidden = !text;
  }

  #show(open: boolean): void {
    this.#panel.hidden = !open;
    setAttribute(this.#button, "aria-expanded", String(open));
    if (open) document.addEventListener("pointerdown", this.#onPointer);
    else document.removeEventListener("pointerdown", this.#onPointer);
  }

  #onKey(event: KeyboardEvent): void {
    if (this.#panel.hidden) return;
    if (event.key === "Escape") {
      this.#show(false);
      this.#button.focus();
    } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      const boxes = [...this.list.querySelectorAll<HTMLElement>(":is(input, a, button):not(:disabled)")];
      const at = boxes.indexOf(document.activeElement as HTMLElement) + (event.key === "ArrowDown" ? 1 : -1);
      boxes[Math.max(0, Math.min(boxes.length - 1, at))]?.focus();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }
}
