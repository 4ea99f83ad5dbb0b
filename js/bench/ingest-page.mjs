// Runs one side of ingest-chromium.mjs in a page.
import { compile } from "../src/guest.ts";
import { openSide } from "./ingest.mjs";

const read = async (name) => new Uint8Array(await (await fetch(name)).arrayBuffer());

globalThis.open = async (name) => {
  const { updates } = await (await fetch("manifest.json")).json();
  globalThis.side = await openSide(name, { module: await compile("watchglass.wasm"), read, updates });
};
