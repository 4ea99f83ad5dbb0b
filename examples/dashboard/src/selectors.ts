/**
 * Edits of selector texts. This code does not validate selectors. The engine's parser
 * does, and the page shows its error.
 */

/** The terms of a field selector: the text between its unescaped commas. */
export function fieldTerms(selector: string): string[] {
  const terms = selector.match(/(?:\\[\s\S]|[^,\\])+/g) ?? [];
  return terms.map((term) => term.trim()).filter(Boolean);
}

/** The value that a field selector requires of a field, if any. */
export function demandedValue(selector: string, field: string): string | undefined {
  for (const term of fieldTerms(selector)) {
    const [, name, value] = /^(.*?)==?((?:\\[\s\S]|[^\\])*)$/.exec(term) ?? [];
    if (name === field) return unescapeValue(value ?? "");
  }
  return undefined;
}

/** The selector without its terms for a field. */
export function withoutField(selector: string, field: string): string {
  return fieldTerms(selector).filter((term) => !isAbout(term, field)).join(",");
}

/** The selector with a required value of a field, which replaces other terms for it. */
export function withField(selector: string, field: string, value: string): string {
  return [withoutField(selector, field), `${field}=${escapeValue(value)}`].filter(Boolean).join(",");
}

/** The label selector with one more required label. */
export function withLabel(selector: string, key: string, value: string): string {
  const term = `${key}=${value}`;
  const there = selector.split(",").some((part) => part.trim() === term);
  return there ? selector : [selector.trim().replace(/,$/, ""), term].filter(Boolean).join(",");
}

function isAbout(term: string, field: string): boolean {
  return term.startsWith(field) && /^\s*(=|!=)/.test(term.slice(field.length));
}

/** Escapes a value for a field selector. */
export function escapeValue(value: string): string {
  return value.replace(/[\\,=]/g, "\\$&");
}

function unescapeValue(value: string): string {
  return value.replace(/\\([\s\S])/g, "$1");
}

/** The position of an error in a selector. */
export interface Fault {
  language: "label" | "field";
  /** In UTF-16 units, for slicing; undefined if the error has no position. */
  offset?: number;
}

/**
 * Returns which selector an error concerns, and where, from "label selector "a b": at
 * offset 2: …".
 */
export function faultOf(message: string, labelSelector: string, fieldSelector: string): Fault | undefined {
  const language = /\b(label|field) selector\b/.exec(message)?.[1] as Fault["language"] | undefined;
  if (!language) return undefined;
  const bytes = /: at offset (\d+): /.exec(message)?.[1];
  if (bytes === undefined) return { language };
  return { language, offset: unitsOf(language === "label" ? labelSelector : fieldSelector, Number(bytes)) };
}

/** Converts the parser's offset, in bytes of UTF-8. */
function unitsOf(text: string, bytes: number): number {
  return new TextDecoder().decode(new TextEncoder().encode(text).subarray(0, bytes)).length;
}
