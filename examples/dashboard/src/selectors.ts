/**
 * Edits of selector texts. Nothing here judges a selector: the engine's parser
 * does, and its own words are what the user sees.
 */

/** The terms of a field selector: the text between its unescaped commas. */
export function fieldTerms(selector: string): string[] {
  const terms = selector.match(/(?:\\[\s\S]|[^,\\])+/g) ?? [];
  return terms.map((term) => term.trim()).filter(Boolean);
}

/** The value that a field selector demands of a field, if it does. */
export function demandedValue(selector: string, field: string): string | undefined {
  for (const term of fieldTerms(selector)) {
    const [, name, value] = /^(.*?)==?((?:\\[\s\S]|[^\\])*)$/.exec(term) ?? [];
    if (name === field) return unescapeValue(value ?? "");
  }
  return undefined;
}

/** The selector without the terms about a field. */
export function withoutField(selector: string, field: string): string {
  return fieldTerms(selector).filter((term) => !isAbout(term, field)).join(",");
}

/** The selector that demands a value of a field, instead of what it said about it. */
export function withField(selector: string, field: string, value: string): string {
  return [withoutField(selector, field), `${field}=${escapeValue(value)}`].filter(Boolean).join(",");
}

/** The label selector that demands one more label. */
export function withLabel(selector: string, key: string, value: string): string {
  const term = `${key}=${value}`;
  const there = selector.split(",").some((part) => part.trim() === term);
  return there ? selector : [selector.trim().replace(/,$/, ""), term].filter(Boolean).join(",");
}

function isAbout(term: string, field: string): boolean {
  return term.startsWith(field) && /^\s*(=|!=)/.test(term.slice(field.length));
}

/** A value as a field selector writes it. */
export function escapeValue(value: string): string {
  return value.replace(/[\\,=]/g, "\\$&");
}

function unescapeValue(value: string): string {
  return value.replace(/\\([\s\S])/g, "$1");
}

/** Where in a selector the parser stopped. */
export interface Fault {
  language: "label" | "field";
  /** In UTF-16 units, for slicing; undefined when the error names no place. */
  offset?: number;
}

/** Reads which selector an error is about, and where, from "label selector "a b": at offset 2: …". */
export function faultOf(message: string, labelSelector: string, fieldSelector: string): Fault | undefined {
  const language = /\b(label|field) selector\b/.exec(message)?.[1] as Fault["language"] | undefined;
  if (!language) return undefined;
  const bytes = /: at offset (\d+): /.exec(message)?.[1];
  if (bytes === undefined) return { language };
  return { language, offset: unitsOf(language === "label" ? labelSelector : fieldSelector, Number(bytes)) };
}

/** The parser counts bytes of UTF-8. */
function unitsOf(text: string, bytes: number): number {
  return new TextDecoder().decode(new TextEncoder().encode(text).subarray(0, bytes)).length;
}
