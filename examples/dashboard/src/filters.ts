import type { Schema } from "watchglass";
import { byId, create } from "./dom.ts";
import { type Query, faultOf } from "./selectors.ts";

const HINTS: Record<string, string> = {
  "spec.nodeName": "=node-1", "status.phase": "!=Running", "spec.type": "=ClusterIP", "involvedObject.kind": "=Pod", reason: "=Killing",
};

/**
 * The delay between a change to an input and the resulting query. It combines the keystrokes of
 * fast typing into one query, and is short enough to seem immediate.
 */
const DEBOUNCE_MILLIS = 200;

/**
 * The inputs of the query: a search, a condition, and kubectl's -l and --field-selector. The page
 * applies changes while the user types, and immediately on Enter. The engine's error appears below
 * the inputs.
 */
export class Filters {
  readonly #inputs: Record<keyof Query, HTMLInputElement> = {
    search: byId("search"), where: byId("where"), labelSelector: byId("label-selector"), fieldSelector: byId("field-selector"),
  };
  readonly #error = byId("query-error");
  readonly #clear = byId<HTMLButtonElement>("clear");
  readonly #onQuery: (query: Query) => void;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(onQuery: (query: Query) => void, onClear: () => void) {
    this.#onQuery = onQuery;
    for (const input of Object.values(this.#inputs)) {
      input.addEventListener("input", () => this.#applySoon());
      input.addEventListener("keydown", (event) => {
        if (event.key === "Enter") this.#apply();
      });
    }
    this.#inputs.search.addEventListener("keydown", (event) => this.#onSearchKey(event));
    this.#clear.addEventListener("click", onClear);
  }

  focus(): void {
    this.#inputs.search.focus();
    this.#inputs.search.select();
  }

  /** The values of the inputs, some of which may not be applied yet. */
  get query(): Query {
    const { search, where, labelSelector, fieldSelector } = this.#inputs;
    return { search: search.value.trim(), where: where.value.trim(), labelSelector: labelSelector.value.trim(), fieldSelector: fieldSelector.value.trim() };
  }

  /** Shows the names of columns and fields as hints. */
  setSchema({ columns, fields }: Schema): void {
    const { where, fieldSelector } = this.#inputs;
    const hints = fields.filter((field) => HINTS[field]).map((field) => field + HINTS[field]);
    fieldSelector.placeholder = hints.join(", ") || "metadata.name=";
    fieldSelector.title = `Fields: ${fields.join(", ")}`;
    const number = columns.find(({ kind }) => kind === "integer");
    where.placeholder = [number && `${number.name.toLowerCase()} > 3`, "age < 2h", "not name ~ test"].filter(Boolean).join(" and ");
    where.title = `Columns: ${columns.map(({ name }) => name).join(", ")}\nFields: ${fields.join(", ")}\nalso name, namespace, labels[key]`;
  }

  /**
   * Shows a query. An input that differs only in surrounding spaces is not changed, because the
   * user may be typing in it.
   */
  set(query: Query, clearable: boolean): void {
    clearTimeout(this.#timer);
    for (const [name, input] of Object.entries(this.#inputs)) {
      const text = query[name as keyof Query];
      if (input.value.trim() !== text) input.value = text;
    }
    this.#clear.disabled = !clearable;
  }

  /**
   * Shows the error of a rejected query, with its position if the message contains one. Undefined
   * removes the error.
   */
  setError(message: string | undefined, query: Query): void {
    const fault = message === undefined ? undefined : faultOf(message, query);
    for (const [name, input] of Object.entries(this.#inputs)) input.setAttribute("aria-invalid", String(fault?.input === name));
    this.#error.hidden = message === undefined;
    this.#error.replaceChildren();
    if (message === undefined) return;
    if (fault?.offset !== undefined) this.#error.append(marked(query[fault.input], fault.offset));
    this.#error.append(create("span", "", message));
  }

  /** Handles Escape, which clears the search. If the search is empty, the page handles the key. */
  #onSearchKey(event: KeyboardEvent): void {
    const { search } = this.#inputs;
    if (event.key !== "Escape" || !search.value) return;
    event.stopPropagation();
    event.preventDefault();
    search.value = "";
    this.#apply();
  }

  #applySoon(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#apply(), DEBOUNCE_MILLIS);
  }

  #apply(): void {
    clearTimeout(this.#timer);
    this.#onQuery(this.query);
  }
}

/** Returns the text with a mark at the position of the error. */
function marked(text: string, offset: number): HTMLElement {
  const code = create("code", "");
  code.setAttribute("aria-hidden", "true"); // the message contains the same position as text
  code.append(text.slice(0, offset), create("mark", "", text.slice(offset) || " "));
  return code;
}
