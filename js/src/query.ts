// Queries of views as text. The engine parses them; core/query defines the notation.
import { badRequest } from "./errors.js";
import type { Condition, ConditionValue, SortKey, ViewOptions } from "./types.js";

/** Returns a sort as text. */
export function sortText(sort: ViewOptions["sort"] = ""): string {
  return typeof sort === "string" ? sort : sort.map((key) => (typeof key === "string" ? key : sortKeyText(key))).join(", ");
}

function sortKeyText({ by, descending, nulls, lexical }: SortKey): string {
  if (by.includes('"')) throw badRequest(`sort key ${JSON.stringify(by)} contains a double quote`);
  const name = /[,\s]|^-/.test(by) ? `"${by}"` : by;
  return `${descending ? "-" : ""}${name}${lexical ? " lexical" : ""}${nulls ? ` nulls ${nulls}` : ""}`;
}

const operators: ReadonlySet<string> = new Set(["=", "!=", "~", "!~", "<", "<=", ">", ">="]);

/**
 * Returns a condition as text, such as `restarts > 3 and not (status ~ Crash)`, for URLs and
 * command lines. {@link ViewOptions.where} accepts both forms.
 */
export function whereText(where: Condition = ""): string {
  if (typeof where === "string") return where;
  if (isComparison(where)) return comparisonText(where);
  if ("not" in where) {
    const negated = whereText(where.not);
    if (!negated.trim()) throw badRequest("not has no condition");
    return `not (${negated})`;
  }
  const [word, parts] = "and" in where ? ["and", where.and] : ["or", where.or];
  const texts = parts.map(whereText).filter((text) => text.trim());
  // An empty part of "and" excludes nothing, but an empty part of "or" includes everything.
  if (word === "or" && texts.length < parts.length) return "";
  if (word === "or" && texts.length === 0) throw badRequest("or has no conditions");
  return texts.length > 1 ? texts.map((text) => `(${text})`).join(` ${word} `) : (texts[0] ?? "");
}

type Comparison = Extract<Condition, readonly unknown[]>;

function isComparison(where: Condition): where is Comparison {
  return Array.isArray(where);
}

function comparisonText([name, operator, value]: Comparison): string {
  const subject = quoted(name);
  if (operator === undefined) return subject;
  if (operator === "exists") return `${subject} exists`;
  if (operator === "in" || operator === "notin") {
    if (!Array.isArray(value) || value.length === 0) throw badRequest(`${operator} of ${name} needs an array of at least one value`);
    return `${subject} ${operator} (${value.map(valueText).join(", ")})`;
  }
  if (!operators.has(operator)) throw badRequest(`operator of ${name} is ${JSON.stringify(operator)}, expected one of ${[...operators].join(" ")} in notin exists`);
  return `${subject} ${operator} ${valueText(value as ConditionValue)}`;
}

function valueText(value: ConditionValue): string {
  return quoted(value instanceof Date ? value.toISOString() : String(value));
}

/** Quotes a name or value unless it is a word that cannot be mistaken for a keyword. */
function quoted(text: string): string {
  const plain = /^[\w./[\]+-]+$/.test(text) && !/^(and|or|not|in|notin|exists)$/i.test(text);
  return plain ? text : `"${text.replace(/[\\"]/g, "\\$&")}"`;
}

/** The half-open range of a match: the indices in the text. */
export type MatchRange = readonly [start: number, end: number];

/**
 * Returns a function that finds the words of a {@link ViewOptions.search} in a text, for
 * highlighting. Its ranges are sorted and do not overlap. A label matches as `key=value`.
 */
export function highlighter(search: string): (text: string) => MatchRange[] {
  const { words } = splitSearch(search);
  return (text) => {
    const folded = lower(text);
    const ranges = words.flatMap((word) => occurrences(folded, word)).sort(([a], [b]) => a - b);
    const merged: [number, number][] = [];
    for (const [start, end] of ranges) {
      const last = merged.at(-1);
      if (last && start <= last[1]) last[1] = Math.max(last[1], end);
      else merged.push([start, end]);
    }
    return merged;
  };
}

function occurrences(text: string, word: string): MatchRange[] {
  const found: MatchRange[] = [];
  for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + 1)) found.push([at, at + word.length]);
  return found;
}

/** Splits a search as the engine does. A missing closing quote ends with the text. */
export function splitSearch(search: string): { words: string[]; excluded: string[] } {
  const words: string[] = [];
  const excluded: string[] = [];
  for (const [, minus, quotedWord] of search.matchAll(/(-(?=[^ \t\n\r]))?((?:"[^"]*(?:"|$)|[^" \t\n\r])+)/g)) {
    const word = lower(quotedWord!.replaceAll('"', ""));
    if (word) (minus ? excluded : words).push(word);
  }
  return { words, excluded };
}

/** Lower case for ASCII, as the engine does. Other letters may change length. */
function lower(text: string): string {
  return text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}
