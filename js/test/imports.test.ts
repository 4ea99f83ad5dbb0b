// Tests of the rules for imports between the modules of the package.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { test } from "node:test";
import { packaged } from "./paths.js";

const src = packaged("src");

/** The relative imports of each module, including types and dynamic imports. */
const imports = new Map<string, string[]>();
/** The modules that each module imports statically, excluding type imports. */
const loads = new Map<string, string[]>();
for (const path of readdirSync(src, { recursive: true, encoding: "utf8" })) {
  if (!path.endsWith(".ts")) continue;
  const text = readFileSync(join(src, path), "utf8");
  const found = [...text.matchAll(/^(?:import|export|\}).* from "(\.[^"]+)\.js";$|import\("(\.[^"]+)\.js"\)/gm)];
  imports.set(path, found.map(([, name, lazy]) => join(dirname(path), `${name ?? lazy}.ts`)));
  const values = found.filter(([line, , lazy]) => !lazy && !/^(import|export) type /.test(line));
  loads.set(path, values.map(([, name]) => join(dirname(path), `${name}.ts`)));
}

test("no module imports itself, directly or through others", () => {
  assert.ok(imports.size > 50, `${imports.size} modules`);
  const done = new Set<string>();
  const visit = (path: string, way: string[]): void => {
    assert.ok(!way.includes(path), `an import cycle: ${[...way, path].join(" > ")}`);
    if (done.has(path)) return;
    for (const next of imports.get(path) ?? []) visit(next, [...way, path]);
    done.add(path);
  };
  for (const path of imports.keys()) visit(path, []);
});

// A page whose engine runs in a worker should not load the engine's code.
test("the main entry loads the engine only when it starts one", () => {
  const loaded = new Set<string>(["index.ts"]);
  for (const path of loaded) for (const next of loads.get(path) ?? []) loaded.add(next);
  for (const path of ["client.ts", "engine-client.ts", "port.ts", "view.ts"]) assert.ok(loaded.has(path), path);
  for (const path of ["start.ts", "engine.ts", "guest.ts", "transport.ts"]) assert.ok(!loaded.has(path), path);
  assert.ok(imports.get("index.ts")!.includes("start.ts"));
});

test("only the edge entry imports the edge", () => {
  for (const [path, names] of imports) {
    if (path === "edge.ts" || path.startsWith("edge/")) continue;
    assert.deepEqual(names.filter((name) => name.startsWith("edge/")), [], relative(".", path));
  }
});
