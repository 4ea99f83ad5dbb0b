// node full-view.js MODULE DATA measures P19 and P20. P19 compares the time per update of a view
// with a search, sorts and facets with that of a plain view. P20 is the time to open the view with
// the search.
import { readFileSync } from "node:fs";
import { compile } from "../src/guest.ts";
import { median, report } from "./rounds.mjs";
import { costs, full, openView } from "./view.mjs";

const rounds = 9;
const warmUps = 2;
const [module, data] = process.argv.slice(2);
const compiled = await compile(readFileSync(module));

const sides = [await openView(compiled, data), await openView(compiled, data, full)];
const updates = costs(sides);
report({
  figure: "P19", ratio: median(updates.map(([plain, full]) => full / plain)),
  sides: [
    { name: "search, two sorts, five facets", value: median(updates.map(([, full]) => full)), unit: "us" },
    { name: "one sort", value: median(updates.map(([plain]) => plain)), unit: "us" },
  ],
});

const { reader } = await openView(compiled, data, null);
let total;
reader.onPatch = (patch) => ({ total } = patch);
const all = [];
for (let round = 0; round < rounds + warmUps; round++) {
  globalThis.gc?.(); // collects the garbage before each round, as ingest.mjs does
  const before = reader.calls.length;
  const start = performance.now();
  reader.view(2, full);
  const millis = performance.now() - start;
  if (round >= warmUps) all.push({ millis, longest: Math.max(...reader.calls.slice(before)) });
  if (!total) throw new Error("the view sent no rows");
  total = 0;
  reader.closeView(2);
}
const of = (name) => median(all.map((times) => times[name]));
report({ figure: "P20", case: "open", unit: "ms", ratio: of("millis"), sides: [] });
report({ figure: "P20", case: "longest-call", unit: "ms", ratio: of("longest"), sides: [] });
