// Converts the queries of views to text, which the engine parses. core/query defines the notation.
import { checkWord, text, wrongType } from "./check.js";
import { badRequest } from "./errors.js";
import type { Condition, ConditionValue, SortKey, ViewOptions } from "./types.js";

/** Returns the sort keys of a view as text, as the engine expects them. */
export function sortText(sort: ViewOptions["sort"] = ""): string {
  if (typeof sort === "string") return sort;
  if (!Array.isArray(sort)) throw wrongType("sort", sort, 'text or an array of keys');
  return sort.map((key: string | SortKey) => (typeof key === "string" ? key : sortKeyText(key))).join(", ");
}

function sortKeyText(key: SortKey): string {
  const { by, descending, nulls, lexical } = key ?? {};
  if (typeof by !== "string") throw wrongType("a key of sort", key, "text or { by, descending, nulls, lexical }");
  if (by.includes('"')) throw badRequest(`sort key ${JSON.stringify(by)} contains a double quote`);
  checkWord("nulls of sort", nulls ?? "first", ["first", "last"]);
  const name = /[,\s]|^-/.test(by) ? `"${by}"` : by;
  return `${descending ? "-" : ""}${name}${lexical ? " lexical" : ""}${nulls ? ` nulls ${nulls}` : ""}`;
}

/** The comparison operators, as core/query defines them. */
const operators = "= == === != ~ !~ < <= > >= in notin exists";

/**
 * Returns a condition as text, such as `restarts > 3 and not (status ~ Crash)`, for URLs and
 * command lines. {@link ViewOptions.where} also accepts this text.
 */
export function whereText(where: Condition = ""): string {
  if (typeof where === "string") return where;
  if (isComparison(where)) return comparisonText(where);
  const { and, or, not } = (where ?? {}) as Partial<Record<"and" | "or", readonly Condition[]> & { not: Condition }>;
  if (not !== undefined) {
    const negated = whereText(not);
    if (!negated.trim()) throw badRequest("not in where has no condition");
    return `not (${negated})`;
  }
  const parts = and ?? or;
  if (!Array.isArray(parts)) throw wrongType("a condition of where", where, "text, [name, operator, value], { and }, { or } or { not }");
  const texts = parts.map((part: Condition) => whereText(part)).filter((text) => text.trim());
  // An empty part of "and" excludes no rows, but an empty part of "or" includes all rows.
  if (!and && texts.length < parts.length) return "";
  if (!and && texts.length === 0) throw badRequest("or in where has no conditions");
  return texts.length > 1 ? texts.map((text) => `(${text})`).join(and ? " and " : " or ") : (texts[0] ?? "");
}

type Comparison = Extract<Condition, readonly unknown[]>;

const isComparison = Array.isArray as unknown as (where: Condition) => where is Comparison;

function comparisonText([name, operator, value]: Comparison): string {
  const subject = quoted(text("the name in a condition of where", name));
  if (operator === undefined) return subject;
  if (operator === "exists") return `${subject} exists`;
  if (operator === "in" || operator === "notin") {
    if (!Array.isArray(value) || value.length === 0) throw badRequest(`${operator} of ${name} in where needs an array of at least one value`);
    return `${subject} ${operator} (${value.map((one: ConditionValue) => valueText(name, one)).join(", ")})`;
  }
  if (!operators.split(" ").includes(operator)) throw badRequest(`operator of ${name} in where is ${JSON.stringify(operator)}, expected one of ${operators}`);
  return `${subject} ${operator} ${valueText(name, value as ConditionValue)}`;
}

function valueText(name: string, value: ConditionValue): string {
  const plain = value instanceof Date ? Number(value) : value;
  if (plain !== plain || !/^(string|number|boolean)$/.test(typeof plain)) throw wrongType(`the value for ${name} in where`, value, "a string, number, boolean or Date");
  return quoted(value instanceof Date ? value.toISOString() : String(value));
}

/** Quotes a name or value unless it is a word that cannot be mistaken for a keyword. */
function quoted(text: string): string {
  const plain = /^[\w./[\]+-]+$/.test(text) && !/^(and|or|not|in|notin|exists)$/i.test(text);
  return plain ? text : `"${text.replace(/[\\"]/g, "\\$&")}"`;
}
