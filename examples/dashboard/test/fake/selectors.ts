/** A small substitute for the engine's parsers, with errors of the same format. */

export class Refused extends Error {
  readonly status;

  constructor(message: string) {
    super(message);
    this.status = { code: 400, reason: "BadRequest", message };
  }
}

export type Labels = Readonly<Record<string, string>>;

const TERM = /^\s*(!)?\s*([\w./-]+)\s*(?:(==|=|!=)\s*([\w.-]*)|\b(in|notin)\s*\(([^()]*)\))?\s*$/;

export function parseLabels(text: string): (labels: Labels) => boolean {
  if (!text.trim()) return () => true;
  const tests = terms(text, /,(?![^(]*\))/g).map(({ term, at }) => labelTest(text, term, at));
  return (labels) => tests.every((test) => test(labels));
}

function labelTest(text: string, term: string, at: number): (labels: Labels) => boolean {
  const [whole, not, key = "", op, value = "", setOp, set = ""] = TERM.exec(term) ?? [];
  if (whole === undefined) {
    const bad = at + (/^\s*[\w./-]*\s*/.exec(term)?.[0].length ?? 0);
    throw new Refused(`label selector ${JSON.stringify(text)}: at offset ${bad}: expected one of = == != in notin > <, found ${JSON.stringify(text.slice(bad))}`);
  }
  const values = set.split(",").map((v) => v.trim());
  if (not) return (l) => !(key in l);
  if (op === "!=") return (l) => l[key] !== value;
  if (op) return (l) => l[key] === value;
  if (setOp === "in") return (l) => key in l && values.includes(l[key]!);
  if (setOp === "notin") return (l) => !values.includes(l[key] ?? "\0");
  return (l) => key in l;
}

export function parseFields(text: string, fields: readonly string[]): (values: readonly string[]) => boolean {
  const tests = terms(text, /,/g).filter(({ term }) => term.trim()).map(({ term, at }) => {
    const [, name, op, value] = /^\s*(.*?)(==|!=|=)(.*)$/.exec(term) ?? [];
    if (!op) throw new Refused(`field selector ${JSON.stringify(text)}: at offset ${at + term.length}: expected =, == or != after the field ${JSON.stringify(term)}`);
    const index = fields.indexOf(name!);
    if (index < 0) throw new Refused(`field selector: unknown field ${JSON.stringify(name)}; the fields to select by are ${fields.join(", ")}`);
    return (values: readonly string[]) => (values[index] === value) === (op !== "!=");
  });
  return (values) => tests.every((test) => test(values));
}

function terms(text: string, comma: RegExp): { term: string; at: number }[] {
  const found = [];
  let at = 0;
  for (const match of [...text.matchAll(comma), { index: text.length }]) {
    found.push({ term: text.slice(at, match.index), at });
    at = match.index! + 1;
  }
  return found;
}
