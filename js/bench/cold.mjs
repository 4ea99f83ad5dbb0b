// node cold.js MODULE DATA: measures the time from a cold start to the complete state,
// and the memory per object. Each round of each side runs in a new process.
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { compare, median, report } from "./rounds.mjs";

const rounds = 5;
const [module, data] = process.argv.slice(2);
const side = (name) =>
  JSON.parse(execFileSync(process.execPath, ["--expose-gc", "--max-old-space-size=4096", join(import.meta.dirname, "cold-side.js"), name, module, data], { stdio: ["ignore", "pipe", "inherit"] }));

const all = { ours: [], metadata: [], peer: [] };
for (let round = 0; round < rounds; round++) {
  for (const name of Object.keys(all)) all[name].push(side(name));
}
const of = (name, what) => all[name].map((result) => result[what]);
/**
 * Returns the duration of the longest call. All rounds make the same calls, so each call is
 * represented by its median duration over the rounds. The median excludes interruptions by other
 * processes.
 */
const longest = (rounds) => Math.max(...rounds[0].map((_, call) => median(rounds.map((calls) => calls[call]))));
/**
 * Returns the duration of the longest call of a round, including interruptions by other processes.
 * The result is the median over the rounds.
 */
const longestOfRound = (rounds) => median(rounds.map((calls) => Math.max(...calls)));
const share = (ours, peer) => ours / peer;

report({ figure: "P2", ...compare("node", of("ours", "millis"), of("peer", "millis"), "ms", (ours, peer) => peer / ours) });
report({
  figure: "P2", case: "longest-step", unit: "ms", ratio: longest(of("ours", "calls")),
  sides: [{ name: "metadata only", value: longest(of("metadata", "calls")), unit: "ms" }, { name: "including interruptions", value: longestOfRound(of("ours", "calls")), unit: "ms" }],
});
report({ figure: "P3", ...compare("bodies", of("ours", "bytes"), of("peer", "bytes"), "B", share) });
report({ figure: "P3", ...compare("metadata", of("metadata", "bytes"), of("peer", "bytes"), "B", share) });
