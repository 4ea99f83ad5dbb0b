// Queries of views as text. The engine parses them; core/query defines the notation.
import { badRequest } from "./errors.js";
import type { SortKey, ViewOptions } from "./types.js";

/** Returns a sort as text. */
export function sortText(sort: ViewOptions["sort"] = ""): string {
  return typeof sort === "string" ? sort : sort.map((key) => (typeof key === "string" ? key : sortKeyText(key))).join(", ");
}

function sortKeyText({ by, descending, nulls, lexical }: SortKey): string {
  if (by.includes('"')) throw badRequest(`sort key ${JSON.stringify(by)} contains a double quote`);
  const name = /[,\s]|^-/.test(by) ? `"${by}"` : by;
  return `${descending ? "-" : ""}${name}${lexical ? " lexical" : ""}${nulls ? ` nulls ${nulls}` : ""}`;
}
