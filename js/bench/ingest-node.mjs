// node ingest-node.js MODULE DATA OURS: measures steady ingest in Node, each side in its
// own process. OURS is "ours", which reads from a connector, or "direct".
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { compile } from "../src/guest.ts";
import { ingest, openSide } from "./ingest.mjs";
import { openSides, serveSide, side } from "./processes.mjs";
import { report } from "./rounds.mjs";

const [module, data, ours] = process.argv.slice(2);
const { updates } = JSON.parse(readFileSync(join(data, "manifest.json")));

if (side) {
  const read = (name) => readFileSync(join(data, name));
  serveSide(await openSide(side, { module: await compile(readFileSync(module)), read, updates }));
} else {
  const { ask, close } = await openSides([ours, "peer"]);
  report(await ingest("node", updates, ours, ask));
  close();
}
