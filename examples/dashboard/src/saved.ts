import { button, byId, create } from "./dom.ts";
import { Menu } from "./menu.ts";
import { formatHash, parseHash } from "./state.ts";

/** A named link to a state of the page. */
export interface SavedView {
  name: string;
  hash: string;
}

const STORED = "watchglass.views";

/** The maximum number of saved views. */
const MAX_VIEWS = 50;

/** A menu with links that the user has named and that are stored in the browser. */
export class SavedViews {
  readonly #menu = new Menu("Views", "views");
  readonly #links = create("div", "");
  readonly #name = create("input", "") as HTMLInputElement;

  constructor() {
    const form = create("form", "ask");
    this.#name.placeholder = this.#name.ariaLabel = "Name of this view";
    this.#name.maxLength = 60;
    this.#name.required = true;
    this.#name.autocomplete = "off";
    form.append(this.#name, create("button", "button", "Save"));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#save(this.#name.value.trim());
    });
    this.#menu.list.append(this.#links, form);
    byId("tools").append(this.#menu.element);
    addEventListener("storage", ({ key }) => key === STORED && this.#draw());
    this.#draw();
  }

  #save(name: string): void {
    if (!name) return;
    const { object, ...state } = parseHash(location.hash);
    const others = storedViews().filter((view) => view.name !== name);
    if (others.length >= MAX_VIEWS) return this.#menu.setNote(`There are ${MAX_VIEWS} views already. Delete one first.`);
    this.#store([...others, { name, hash: formatHash({ ...state, object: "" }) }]);
  }

  #store(views: readonly SavedView[]): void {
    try {
      localStorage.setItem(STORED, JSON.stringify(views));
    } catch (error) {
      return this.#menu.setNote(`Not saved: ${(error as Error).message}`);
    }
    this.#name.value = "";
    this.#draw();
  }

  #draw(): void {
    const views = storedViews().sort((a, b) => a.name.localeCompare(b.name));
    this.#links.replaceChildren(...views.map((view) => this.#line(view)));
    this.#menu.setNote(views.length ? "" : "A saved view keeps this link: its resource, filters, order and columns.");
  }

  #line({ name, hash }: SavedView): HTMLElement {
    const line = create("div", "menu-line");
    const link = create("a", "menu-value", name) as HTMLAnchorElement;
    link.href = hash;
    const remove = button("button icon", "✕", () => {
      this.#name.focus(); // the focused button disappears
      this.#store(storedViews().filter((view) => view.name !== name));
    });
    remove.ariaLabel = remove.title = `Delete ${name}`;
    line.append(link, remove);
    return line;
  }
}

/** Returns the stored views. Entries that do not have the expected form are ignored. */
function storedViews(): SavedView[] {
  try {
    const views: unknown = JSON.parse(localStorage.getItem(STORED) ?? "[]");
    return Array.isArray(views) ? views.filter(isView).map(({ name, hash }) => ({ name, hash })) : [];
  } catch {
    return [];
  }
}

/** Reports whether a stored value is a view. Only links within the page are accepted. */
function isView(view: unknown): view is SavedView {
  const { name, hash } = (view ?? {}) as Partial<SavedView>;
  return typeof name === "string" && name !== "" && typeof hash === "string" && hash.startsWith("#/");
}
