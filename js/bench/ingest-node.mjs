// node ingest-node.js MODULE DATA OURS: measures steady ingest in Node, each side in its
// own process. OURS is "ours", which reads from a connector, or "direct".
import { fork } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { compile } from "../src/guest.ts";
import { ingest, openSide } from "./ingest.mjs";
import { report } from "./rounds.mjs";

const [module, data, ours, side] = process.argv.slice(2);
const { updates } = JSON.parse(readFileSync(join(data, "manifest.json")));

if (side) {
  const read = (name) => readFileSync(join(data, name));
  const opened = await openSide(side, { module: await compile(readFileSync(module)), read, updates });
  process.on("message", ([method, ...args]) => process.send([opened[method](...args)]));
  process.send("open");
} else {
  const children = {};
  for (const name of [ours, "peer"]) {
    children[name] = fork(process.argv[1], [module, data, ours, name]);
    await answer(children[name]);
  }
  report(
    await ingest("node", updates, ours, async (name, ...call) => {
      children[name].send(call);
      const [[result]] = await answer(children[name]);
      return result;
    }),
  );
  for (const child of Object.values(children)) child.disconnect();
}

/** Returns the next message of a child. A child that fails prints the error to stderr and exits. */
async function answer(child) {
  const died = new AbortController();
  const exit = () => died.abort(new Error("a side of the comparison failed"));
  child.once("exit", exit);
  try {
    return await once(child, "message", { signal: died.signal });
  } finally {
    child.off("exit", exit);
  }
}
