// node ingest-node.js MODULE DATA: steady ingest in Node.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { compile } from "../src/guest.ts";
import { ingest } from "./ingest.mjs";
import { compare, report } from "./rounds.mjs";

const [module, data] = process.argv.slice(2);
const read = (name) => readFileSync(join(data, name));
const { updatesPerBatch } = JSON.parse(read("manifest.json"));
const speeds = await ingest({
  module: await compile(readFileSync(module)),
  snapshot: read("snapshot.bin"), updates: read("updates.bin"),
  list: read("list.json"), watch: read("watch.bin"),
  rounds: 5, updatesPerBatch,
});
report(compare("node", speeds.ours, speeds.peer, "/s", (ours, peer) => ours / peer));
