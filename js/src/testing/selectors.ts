/**
 * Label and field selectors with the syntax of the Kubernetes API. Invalid selectors throw an error
 * that quotes the invalid term.
 */

type Labels = Readonly<Record<string, string>>;

const term = /^\s*(!)?\s*([\w./-]+)\s*(?:(==|=|!=)\s*([\w.-]*)|\b(in|notin)\s*\(([^()]*)\))?\s*$/;

/**
 * Returns a function that matches labels with a selector such as "app in
 * (web,api),!canary".
 */
export function parseLabels(selector: string): (labels: Labels) => boolean {
  if (!selector.trim()) return () => true;
  const tests = selector.split(/,(?![^(]*\))/).map((text) => labelTest(selector, text));
  return (labels) => tests.every((test) => test(labels));
}

function labelTest(selector: string, text: string): (labels: Labels) => boolean {
  const [whole, not, key = "", op, value = "", setOp, set = ""] = term.exec(text) ?? [];
  if (whole === undefined) throw new Error(`label selector "${selector}": cannot parse "${text}"; expected a term such as app=web, app!=web, app in (web,api), app or !app`);
  const values = set.split(",").map((v) => v.trim());
  if (not) return (labels) => !Object.hasOwn(labels, key);
  if (op === "!=") return (labels) => labels[key] !== value;
  if (op) return (labels) => labels[key] === value;
  if (setOp === "in") return (labels) => Object.hasOwn(labels, key) && values.includes(labels[key]!);
  if (setOp === "notin") return (labels) => !Object.hasOwn(labels, key) || !values.includes(labels[key]!);
  return (labels) => Object.hasOwn(labels, key);
}

/**
 * Returns a function that matches objects with a selector such as
 * "status.phase=Running,spec.nodeName!=a", whose fields are member paths.
 */
export function parseFields(selector: string): (object: object) => boolean {
  const tests = selector.split(",").filter((text) => text.trim()).map((text) => {
    const [, path, op, value] = /^\s*([\w.]+)\s*(==|!=|=)\s*(.*?)\s*$/.exec(text) ?? [];
    if (!path) throw new Error(`field selector "${selector}": cannot parse "${text}"; expected a term such as status.phase=Running`);
    return (object: object) => (String(memberAt(object, path) ?? "") === value) === (op !== "!=");
  });
  return (object) => tests.every((test) => test(object));
}

function memberAt(object: object, path: string): unknown {
  return path.split(".").reduce<unknown>((at, name) => (typeof at === "object" && at !== null ? (at as Record<string, unknown>)[name] : undefined), object);
}
