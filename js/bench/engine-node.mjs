// node engine-node.js MODULE DATA: measures the time per event in the guest and its driver, without
// parsing the output. It reports nanoseconds per event in the field `ratio`.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { compile } from "../src/guest.ts";
import { chunks } from "./chunks.mjs";
import { Ours } from "./ours.mjs";
import { median, report } from "./rounds.mjs";

const rounds = 5;
const warmUps = 2;
const [module, data] = process.argv.slice(2);
const read = (name) => readFileSync(join(data, name));
const { updatesPerBatch } = JSON.parse(read("manifest.json"));
const reader = await Ours.open(await compile(readFileSync(module)), { deaf: true });
for (const message of chunks(read("snapshot.bin"))) reader.receive(message);
reader.attach({ watch: "app=web", sort: "-Restarts" });
const updates = chunks(read("updates.bin"));
const batches = Math.floor(updates.length / (rounds + warmUps));
const nanos = [];
for (let round = 0; round < rounds + warmUps; round++) {
  globalThis.gc?.(); // collects the garbage before each round, as ingest.mjs does
  const start = performance.now();
  for (const message of updates.slice(round * batches, (round + 1) * batches)) reader.receive(message);
  if (round >= warmUps) nanos.push((1e6 * (performance.now() - start)) / (batches * updatesPerBatch));
}
report({ ratio: median(nanos), unit: "ns", sides: [] });
