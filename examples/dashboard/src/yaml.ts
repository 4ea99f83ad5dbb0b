import type { Line, Token } from "./lines.ts";

/** Formats a JSON value as YAML, in kubectl's layout. */
export function yamlLines(value: unknown): Line[] {
  return isNested(value) ? nested(value, 0) : [[scalar(value)]];
}

type Nested = unknown[] | Record<string, unknown>;

/** Reports whether a value needs its own lines. Empty lists and maps do not. */
function isNested(value: unknown): value is Nested {
  return typeof value === "object" && value !== null && Object.keys(value).length > 0;
}

function nested(value: Nested, indent: number): Line[] {
  if (Array.isArray(value)) return value.flatMap((item) => listItem(item, indent));
  return Object.entries(value).flatMap(([key, member]) => mapMember(key, member, indent));
}

function mapMember(key: string, value: unknown, indent: number): Line[] {
  const start: Line = [space(indent), { text: scalar(key).text, kind: "key" }, plain(":")];
  if (isNested(value)) return [start, ...nested(value, Array.isArray(value) ? indent : indent + 2)];
  if (isBlock(value)) return [[...start, plain(value.endsWith("\n") ? " |" : " |-")], ...block(value, indent + 2)];
  return [[...start, plain(" "), scalar(value)]];
}

/** Formats an item of a list. The dash replaces the first two columns of the item. */
function listItem(value: unknown, indent: number): Line[] {
  if (!isNested(value)) return [[plain(`${" ".repeat(indent)}- `), scalar(value)]];
  const [first = [], ...rest] = nested(value, indent + 2);
  const opening = first[0]?.text ?? "";
  return [[plain(`${" ".repeat(indent)}- ${opening.slice(indent + 2)}`), ...first.slice(1)], ...rest];
}

/** Reports whether a value is a multi-line string that a block scalar would preserve exactly. */
function isBlock(value: unknown): value is string {
  return typeof value === "string" && value.includes("\n") && !/^\s|\n\n$|[^\S\n]\n|[^\S\n]$|[\x00-\x08\x0b-\x1f\x7f-\x9f\ufeff\t]/.test(value);
}

function block(text: string, indent: number): Line[] {
  const lines = text.replace(/\n$/, "").split("\n");
  return lines.map((line) => [{ text: line ? " ".repeat(indent) + line : "", kind: "string" }]);
}

/** Matches a string that YAML 1.1 or 1.2 would parse as null, a boolean, a number or a time. */
const AMBIGUOUS =
  /^(?:~|null|true|false|yes|no|on|off|y|n|[-+]?\.(?:inf|nan)|[-+]?[\d_]*\.?[\d_]*(?:e[-+]?\d+)?|0[xob][\da-f_]+|[-+]?[\d_]+(?::[\d.]+)+|\d{4}-\d\d?-\d\d?.*)$/i;
const SAFE = /^(?:[A-Za-z0-9_./$(]|--?[A-Za-z])[^\x00-\x1f\x7f-\x9f\ufeff\u2028\u2029]*$/;

function scalar(value: unknown): Token {
  if (typeof value !== "string") return { text: JSON.stringify(value) ?? "null", kind: "literal" };
  const bare = SAFE.test(value) && !AMBIGUOUS.test(value) && !/: | #|[:\s]$/.test(value);
  return { text: bare ? value : JSON.stringify(value), kind: "string" };
}

function space(indent: number): Token {
  return plain(" ".repeat(indent));
}

function plain(text: string): Token {
  return { text, kind: "plain" };
}
