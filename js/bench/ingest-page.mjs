// The same in a page.
import { compile } from "../src/guest.ts";
import { ingest } from "./ingest.mjs";
import { compare } from "./rounds.mjs";

const read = async (name) => new Uint8Array(await (await fetch(name)).arrayBuffer());

globalThis.run = async () => {
  const { updatesPerBatch } = await (await fetch("manifest.json")).json();
  const speeds = await ingest({
    module: await compile("watchglass.wasm"),
    snapshot: await read("snapshot.bin"), updates: await read("updates.bin"),
    list: await read("list.json"), watch: await read("watch.bin"),
    rounds: 5, updatesPerBatch,
  });
  return compare("chromium", speeds.ours, speeds.peer, "/s", (ours, peer) => ours / peer);
};
