// This reporter for node --test prints one JSON object per line for each test, each test
// file, and each output of a file. nodetest.go parses the lines.
import { relative, resolve } from "node:path";
import { inspect } from "node:util";

export default async function* report(source) {
  const names = new Map(); // running tests by file, outermost first
  for await (const { type, data } of source) {
    const line = lines[type]?.(data, names);
    if (line) yield JSON.stringify({ file: data.file && relative("", data.file), ...line }) + "\n";
  }
}

const isFile = (data) => data.nesting === 0 && data.file !== undefined && resolve(data.name) === resolve(data.file);

const lines = {
  // Node reports test:dequeue and test:complete immediately, and test:start, test:pass and
  // test:fail in the order of the tests in the file.
  "test:dequeue": (data) => (isFile(data) ? undefined : { action: "run", id: id(data), test: data.name }),
  "test:start"(data, names) {
    names.set(data.file, [...(names.get(data.file) ?? []).slice(0, data.nesting), data.name]);
  },
  "test:pass"(data, names) {
    if (data.details.type === "suite") return undefined;
    const skipped = data.skip !== undefined && data.skip !== false;
    return { action: skipped ? "skip" : "pass", ...test(data, names), output: skipped ? `    ${data.skip}\n` : "" };
  },
  "test:fail"(data, names) {
    const { error, type } = data.details;
    if (type === "suite" && error?.failureType === "subtestsFailed") return undefined;
    const output = error?.failureType === "subtestsFailed" ? "" : inspect(error?.cause ?? error).replace(/^/gm, "    ") + "\n";
    return { action: "fail", ...test(data, names), output };
  },
  "test:complete"(data) {
    if (!isFile(data)) return { action: "end", id: id(data) };
    return { action: data.details.passed ? "pass" : "fail", seconds: data.details.duration_ms / 1000 };
  },
  "test:stdout": (data) => ({ action: "output", output: data.message }),
  "test:stderr": (data) => ({ action: "output", output: data.message }),
};

const id = ({ line, column, name }) => `${line}:${column} ${name}`;

function test(data, names) {
  const open = isFile(data) ? ["(the file)"] : [...(names.get(data.file) ?? []).slice(0, data.nesting), data.name];
  return { test: open.join(" > "), seconds: data.details.duration_ms / 1000 };
}
