import type { Status } from "watchglass";
import { byId, button, create } from "./dom.ts";
import { schedule } from "./frame.ts";

/** The maximum number of objects that a notice lists. The notice only counts the others. */
const SHOWN = 3;

/**
 * A notice that lists objects whose newest version is unreadable. It is shown until the user
 * dismisses it.
 */
export class Notices {
  readonly #box = byId("notice");
  readonly #draw = () => this.#render();
  #errors = new Map<string, string>();

  add(key: string, status: Status): void {
    this.#errors.set(key, status.message);
    schedule(this.#draw);
  }

  clear(): void {
    this.#errors.clear();
    schedule(this.#draw);
  }

  #render(): void {
    const errors = [...this.#errors];
    this.#box.hidden = errors.length === 0;
    if (errors.length === 0) return;
    const list = create("ul", "");
    for (const [key, message] of errors.slice(-SHOWN)) {
      const item = create("li", "");
      item.append(create("code", "", key), ` ${message}`);
      list.append(item);
    }
    const more = errors.length > SHOWN ? ` (the last ${SHOWN} of ${errors.length})` : "";
    const text = create("div", "spring");
    text.append(create("strong", "", `Not readable; the last good version is shown${more}`), list);
    this.#box.replaceChildren(text, button("button", "Dismiss", () => this.clear()));
  }
}
