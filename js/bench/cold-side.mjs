// node cold-side.js SIDE MODULE DATA: measures one side once, for cold.mjs.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { compile } from "../src/guest.ts";
import { chunks } from "./chunks.mjs";
import { Ours } from "./ours.mjs";
import { Peer } from "./peer.mjs";

const [side, module, data] = process.argv.slice(2);
const { objects } = JSON.parse(readFileSync(join(data, "manifest.json")));

async function ours(recording, options) {
  const bytes = readFileSync(module);
  const messages = chunks(readFileSync(join(data, recording)));
  const start = performance.now();
  const reader = await Ours.open(await compile(bytes), options);
  for (const message of messages) reader.receive(message);
  const millis = performance.now() - start;
  if (!reader.live) throw new Error("the guest is not live after the snapshot");
  return { millis, calls: reader.calls, bytes: reader.bytes / objects };
}

async function peer() {
  let list = readFileSync(join(data, "list.json"));
  const before = heap();
  const start = performance.now();
  const reader = await Peer.open(list);
  const millis = performance.now() - start;
  if (reader.informer.list().length !== objects) throw new Error("client-node did not process the whole list");
  list = undefined;
  return { millis, bytes: (heap() - before) / objects, stored: reader.informer.list().length };
}

function heap() {
  for (let i = 0; i < 3; i++) globalThis.gc();
  return process.memoryUsage().heapUsed;
}

const sides = {
  ours: () => ours("snapshot.bin", {}),
  metadata: () => ours("metadata.bin", { metadataOnly: true }),
  peer,
};
console.log(JSON.stringify(await sides[side]()));
