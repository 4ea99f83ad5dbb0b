import { readFileSync } from "node:fs";
import { join } from "node:path";
import { chunks } from "./chunks.mjs";
import { Ours } from "./ours.mjs";
import { inTurn } from "./rounds.mjs";

const rounds = 5;
const warmUps = 1;

/** The view of P6. */
const plain = { sort: "-Restarts" };

/**
 * The view of P19, P20 and P21, as in a dashboard. It has a search that matches about nine tenths
 * of the pods, two sort keys, and five facets.
 */
export const full = { search: "running", sort: "-Restarts, Node", facets: ["Status", "Ready", "Node", "namespace", "labels[app]"] };

/**
 * Opens a guest with the objects of a recording, and a view of these objects unless the query is
 * null.
 */
export async function openView(module, data, query = plain) {
  const { objects, updatesPerBatch } = JSON.parse(readFileSync(join(data, "manifest.json")));
  const reader = await Ours.open(module, { metadataOnly: true });
  for (const message of chunks(readFileSync(join(data, "metadata.bin")))) reader.receive(message);
  if (!reader.live) throw new Error("the guest is not live after the snapshot");
  if (query) reader.attach(query);
  return { objects, updatesPerBatch, reader, updates: chunks(readFileSync(join(data, "metadata-updates.bin"))) };
}

/** Returns the microseconds per update of each view, for each round after the warm-up. */
export function costs(views) {
  const sides = views.map(({ reader, updates }) => ({ receive: (m) => reader.receive(m), parts: updates }));
  const batches = Math.floor(Math.min(...sides.map(({ parts }) => parts.length)) / (rounds + warmUps));
  const result = [];
  for (let round = 0; round < rounds + warmUps; round++) {
    globalThis.gc?.(); // collects the garbage before each round, as ingest.mjs does
    const millis = inTurn(sides, round * batches, (round + 1) * batches);
    if (round >= warmUps) result.push(millis.map((m, i) => (1000 * m) / (batches * views[i].updatesPerBatch)));
  }
  return result;
}
