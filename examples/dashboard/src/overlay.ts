import { byId, button, create } from "./dom.ts";

/** A message in place of the rows. */
export interface Message {
  title: string;
  text?: string;
  action?: { text: string; run: () => void };
  /** An input for text from the user, such as a token. */
  ask?: { label: string; text: string; secret: boolean; submit: (answer: string) => void };
}

/** An overlay in place of the rows: a skeleton while the table loads, or a message. */
export class Overlay {
  readonly #box = byId("overlay");
  #drawn = "";

  hide(): void {
    this.#box.hidden = true;
    this.#drawn = "";
  }

  showLoading(text: string): void {
    if (this.#is(`loading ${text}`)) return;
    const lines = Array.from({ length: 12 }, () => create("div", "bone"));
    this.#box.replaceChildren(...lines, create("p", "muted", text));
  }

  showMessage(message: Message): void {
    if (this.#is(JSON.stringify(message))) return;
    const card = create("div", "message");
    card.append(create("h2", "", message.title));
    if (message.text) card.append(create("p", "muted", message.text));
    if (message.ask) card.append(form(message.ask));
    if (message.action) card.append(button("button", message.action.text, message.action.run));
    this.#box.replaceChildren(card);
    // Do not steal focus.
    if (document.activeElement === document.body) card.querySelector("input")?.focus();
  }

  #is(drawn: string): boolean {
    this.#box.hidden = false;
    if (this.#drawn === drawn) return true;
    this.#drawn = drawn;
    return false;
  }
}

function form({ label, text, secret, submit }: NonNullable<Message["ask"]>): HTMLElement {
  const element = create("form", "ask");
  const input = create("input", "") as HTMLInputElement;
  input.type = secret ? "password" : "text";
  input.placeholder = label;
  input.autocomplete = "off";
  input.required = true;
  input.setAttribute("aria-label", label);
  const send = create("button", "button", text);
  element.addEventListener("submit", (event) => {
    event.preventDefault();
    submit(input.value.trim());
  });
  element.append(input, send);
  return element;
}
