import type { Line } from "./lines.ts";

/** Formats a value as indented JSON. */
export function jsonLines(value: unknown): Line[] {
  return JSON.stringify(value, null, 2).split("\n").map(tokens);
}

/**
 * Splits a line into tokens. JSON.stringify writes one member or element per line, so each line can
 * be parsed separately.
 */
function tokens(text: string): Line {
  const [, indent = "", key = "", rest = "", comma = ""] = /^(\s*)("(?:[^"\\]|\\.)*": )?(.*?)(,?)$/.exec(text) ?? [];
  const line: Line = [{ text: indent, kind: "plain" }];
  if (key) line.push({ text: key.slice(0, -2), kind: "key" }, { text: ": ", kind: "plain" });
  line.push({ text: rest, kind: kindOf(rest) }, { text: comma, kind: "plain" });
  return line;
}

function kindOf(text: string): "plain" | "string" | "literal" {
  if (text.startsWith('"')) return "string";
  return /^[[\]{}]/.test(text) ? "plain" : "literal";
}
