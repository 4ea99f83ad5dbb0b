// node views.js FIGURE MODULE SMALL LARGE: measures the time per update with a sorted view of a
// small and of a large collection. It also measures the memory of the guest with the large
// collection.
import { readFileSync } from "node:fs";
import { compile } from "../src/guest.ts";
import { median, report } from "./rounds.mjs";
import { costs, openView } from "./view.mjs";

const [figure, module, small, large] = process.argv.slice(2);
const compiled = await compile(readFileSync(module));
const few = await openView(compiled, small);
const many = await openView(compiled, large);
const rounds = costs([few, many]);
report({
  figure, case: "views", ratio: median(rounds.map(([a, b]) => b / a)),
  sides: [
    { name: `${many.objects} objects`, value: median(rounds.map(([, b]) => b)), unit: "us" },
    { name: `${few.objects} objects`, value: median(rounds.map(([a]) => a)), unit: "us" },
  ],
});
report({
  figure, case: "memory", unit: "MB", ratio: many.reader.bytes / 1e6,
  sides: [{ name: "per object", value: many.reader.bytes / many.objects, unit: "B" }],
});
