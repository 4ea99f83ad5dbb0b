/**
 * Functions that edit selectors as strings. They do not validate the selectors. The engine does,
 * and the page shows its error.
 */

/** Returns the label selector with one more required label. */
export function withLabel(selector: string, key: string, value: string): string {
  const term = `${key}=${value}`;
  const there = selector.split(",").some((part) => part.trim() === term);
  return there ? selector : [selector.trim().replace(/,$/, ""), term].filter(Boolean).join(",");
}

/** Escapes a value for a field selector. */
export function escapeValue(value: string): string {
  return value.replace(/[\\,=]/g, "\\$&");
}

/** The parts of a query, each with its own input. */
export type Query = Record<"search" | "where" | "labelSelector" | "fieldSelector", string>;

/** The position of an error in a query. */
export interface Fault {
  input: keyof Query;
  /**
   * The offset in UTF-16 code units, as String.slice expects. Undefined if the error has no
   * position.
   */
  offset?: number;
}

const INPUTS: [RegExp, keyof Query][] = [
  [/\blabel selector\b/, "labelSelector"],
  [/\bfield selector\b/, "fieldSelector"],
  [/^(the )?condition\b/, "where"],
  [/^the search\b/, "search"],
];

/**
 * Returns the input and the position of an error such as "label selector "a b": at offset 2: …".
 * Returns undefined if the error is not about one of the inputs.
 */
export function faultOf(message: string, query: Query): Fault | undefined {
  const input = INPUTS.find(([pattern]) => pattern.test(message))?.[1];
  if (!input) return undefined;
  const bytes = /: at offset (\d+): /.exec(message)?.[1];
  return bytes === undefined ? { input } : { input, offset: unitsOf(query[input], Number(bytes)) };
}

/** Converts the parser's offset in bytes of UTF-8 to UTF-16 code units. */
function unitsOf(text: string, bytes: number): number {
  return new TextDecoder().decode(new TextEncoder().encode(text).subarray(0, bytes)).length;
}
