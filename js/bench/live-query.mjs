// node live-query.js MODULE DATA: measures P21, the time per update under one live view. It
// compares the package with live queries of TanStack DB, and with JavaScript arrays that are
// filtered, sorted and counted again for each frame. Each side has its own process.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { compile } from "../src/guest.ts";
import { toRow } from "../src/object.ts";
import { chunks } from "./chunks.mjs";
import { Arrays } from "./arrays.mjs";
import { Ours } from "./ours.mjs";
import { openSides, serveSide, side } from "./processes.mjs";
import { median, report } from "./rounds.mjs";
import { Tanstack } from "./tanstack.mjs";
import { full, openView } from "./view.mjs";

const warmUps = 4; // as in ingest.mjs
const rounds = 5 + warmUps;
const [module, data] = process.argv.slice(2);
const { updatesPerBatch } = JSON.parse(readFileSync(join(data, "manifest.json")));

/** Returns our side, which reads the messages of a connector. */
async function ours(compiled) {
  const { reader, updates } = await openView(compiled, data, full);
  return {
    parts: updates,
    receive: (message) => reader.receive(message),
    result() {
      let patch;
      reader.onPatch = (it) => (patch = it);
      reader.view(2, full); // the first patch contains all rows of the window
      const keys = patch.edits.flatMap(({ insert }) => insert.map((item) => item.envelope().key));
      return { total: patch.total, keys, facets: patch.facets.map(({ values }) => values.map(({ values: [value], rows }) => [value, rows])) };
    },
  };
}

/** Returns the side of a peer, which receives decoded rows instead of messages. */
async function peer(Peer, compiled) {
  const { snapshot, batches } = await readRows(compiled);
  const opened = await Peer.open(snapshot);
  return { parts: batches, receive: (batch) => opened.receive(batch), result: () => opened.result() };
}

/** Returns the recorded objects as rows, and the recorded changes as batches of rows. */
async function readRows(compiled) {
  const reader = await Ours.open(compiled, { metadataOnly: true });
  for (const message of chunks(readFileSync(join(data, "metadata.bin")))) reader.receive(message);
  let changes = [];
  reader.onEvents = (events) => {
    for (const { type, item } of events) if (item) changes.push({ type, row: rowOf(toRow(item, reader.schema)) });
  };
  const take = () => changes.splice(0);
  reader.watch("");
  const snapshot = take().map(({ row }) => row);
  const batches = chunks(readFileSync(join(data, "metadata-updates.bin"))).map((message) => {
    reader.receive(message);
    return take();
  });
  return { snapshot, batches };
}

/**
 * Returns the values of a row that the query needs. `text` contains everything that a search reads,
 * in lower case.
 */
function rowOf({ key, name, namespace, labels, cells }) {
  const texts = Object.values(cells).filter((cell) => typeof cell === "string");
  const text = [name, namespace, ...Object.entries(labels).map((label) => label.join("=")), ...texts].join("\n").toLowerCase();
  return {
    key, namespace, text, app: labels.app ?? "",
    status: cells.Status ?? "", ready: cells.Ready ?? "", node: cells.Node ?? "", restarts: cells.Restarts ?? 0,
  };
}

if (side) {
  const compiled = await compile(readFileSync(module));
  const { parts, receive, result } = await { ours, tanstack: (c) => peer(Tanstack, c), arrays: (c) => peer(Arrays, c) }[side](compiled);
  const start = (round) => Math.floor((parts.length * round) / rounds);
  serveSide({
    take(round) {
      globalThis.gc?.(); // collects the garbage before each round, as ingest.mjs does
      const mine = parts.slice(start(round), start(round + 1));
      const before = performance.now();
      for (const part of mine) receive(part);
      return (1000 * (performance.now() - before)) / (mine.length * updatesPerBatch);
    },
    result,
  });
} else {
  // One peer at a time, because the arrays take seconds for a round and leave the caches of others cold.
  for (const peer of ["tanstack", "arrays"]) await compare(peer);
}

async function compare(name) {
  const { ask, close } = await openSides(["ours", name]);
  const micros = { ours: [], [name]: [] };
  for (let round = 0; round < rounds; round++) {
    for (const side of ["ours", name]) {
      const taken = await ask(side, "take", round);
      if (round >= warmUps) micros[side].push(taken);
    }
  }
  const [expected, result] = [JSON.stringify(await ask("ours", "result")), JSON.stringify(await ask(name, "result"))];
  if (result !== expected) throw new Error(`${name} has another result: ${result.slice(0, 500)}, expected ${expected.slice(0, 500)}`);
  close();
  report({
    figure: "P21", case: name, ratio: median(micros[name].map((theirs, i) => theirs / micros.ours[i])),
    sides: [{ name: "ours", value: median(micros.ours), unit: "us" }, { name, value: median(micros[name]), unit: "us" }],
  });
}
