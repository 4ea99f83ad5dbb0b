import { byId, create } from "./dom.ts";
import { faultOf } from "./selectors.ts";

export interface Selection {
  labelSelector: string;
  fieldSelector: string;
}

const HINTS: Record<string, string> = {
  "spec.nodeName": "=node-1", "status.phase": "!=Running", "spec.type": "=ClusterIP", "involvedObject.kind": "=Pod", reason: "=Killing",
};

/** Long enough to type a word, short enough to feel live. */
const DEBOUNCE_MILLIS = 250;

/**
 * The selector box: kubectl's -l and --field-selector side by side. It applies changes
 * while the user types, on Enter immediately, and shows the engine's error below.
 */
export class Filters {
  readonly #label = byId<HTMLInputElement>("label-selector");
  readonly #field = byId<HTMLInputElement>("field-selector");
  readonly #error = byId("selector-error");
  readonly #clear = byId("clear");
  readonly #onSelect: (selection: Selection) => void;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(onSelect: (selection: Selection) => void) {
    this.#onSelect = onSelect;
    for (const input of [this.#label, this.#field]) {
      input.addEventListener("input", () => this.#applySoon());
      input.addEventListener("keydown", (event) => {
        if (event.key === "Enter") this.#apply();
      });
    }
    this.#clear.addEventListener("click", () => onSelect({ labelSelector: "", fieldSelector: "" }));
  }

  focus(): void {
    this.#label.focus();
    this.#label.select();
  }

  /** The available fields for selection, as a hint. */
  setFields(fields: readonly string[]): void {
    const hints = fields.filter((field) => HINTS[field]).map((field) => field + HINTS[field]);
    this.#field.placeholder = hints.join(", ") || "metadata.name=";
    this.#field.title = `Fields to select by: ${fields.join(", ")}`;
  }

  /** Shows the selection, except in an input that the user is editing. */
  set(selection: Selection, clearable: boolean): void {
    clearTimeout(this.#timer);
    if (this.#label.value !== selection.labelSelector) this.#label.value = selection.labelSelector;
    if (this.#field.value !== selection.fieldSelector) this.#field.value = selection.fieldSelector;
    this.#clear.hidden = !clearable;
  }

  /**
   * Shows why a query was rejected, and the position if the error has one. Undefined
   * removes the error.
   */
  setError(message: string | undefined, selection: Selection): void {
    const fault = message === undefined ? undefined : faultOf(message, selection.labelSelector, selection.fieldSelector);
    this.#label.setAttribute("aria-invalid", String(fault?.language === "label"));
    this.#field.setAttribute("aria-invalid", String(fault?.language === "field"));
    this.#error.hidden = message === undefined;
    this.#error.replaceChildren();
    if (message === undefined) return;
    if (fault?.offset !== undefined) {
      this.#error.append(marked(fault.language === "label" ? selection.labelSelector : selection.fieldSelector, fault.offset));
    }
    this.#error.append(create("span", "", message));
  }

  #applySoon(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#apply(), DEBOUNCE_MILLIS);
  }

  #apply(): void {
    clearTimeout(this.#timer);
    this.#onSelect({ labelSelector: this.#label.value.trim(), fieldSelector: this.#field.value.trim() });
  }
}

/** The selector with a mark at the position of the error. */
function marked(selector: string, offset: number): HTMLElement {
  const code = create("code", "");
  code.setAttribute("aria-hidden", "true"); // the message contains it as text
  code.append(selector.slice(0, offset), create("mark", "", selector.slice(offset) || " "));
  return code;
}
