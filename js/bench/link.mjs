// node link.js MODULE URL: measures the time to a complete table of all pods over a slow link,
// sorted by name and counted by phase. It compares a snapshot that sends rows first with a
// compressed list in client-node, and with the first page of a paged list.
import { readFileSync } from "node:fs";
import { connect } from "../src/index.ts";
import { Peer } from "./peer.mjs";
import { compare, median, report } from "./rounds.mjs";

const rounds = 5;
const window = 50;
const [module, url] = process.argv.slice(2);
const bytes = readFileSync(module);
const byName = new Intl.Collator("en", { numeric: true });

async function ours() {
  const wg = await connect(`${url.replace("http", "ws")}/watch`, { wasm: bytes });
  const pods = wg.collection("v1/pods", { rowsFirst: true });
  const view = pods.view({ sort: "name", limit: window, facets: ["status.phase"] });
  await view.ready;
  const { total, facets } = view.snapshot;
  return { close: () => wg.close(), table: { total, counted: facets["status.phase"].values.length } };
}

/**
 * Lists a path of the Kubernetes API into client-node's cache, and computes the table from that
 * cache.
 */
async function listed(path) {
  const response = await fetch(url + path);
  const { informer } = await Peer.open(new Uint8Array(await response.arrayBuffer()));
  const pods = informer.list().sort((a, b) => byName.compare(a.metadata.name, b.metadata.name));
  const counts = new Map();
  for (const { status } of pods) counts.set(status.phase, (counts.get(status.phase) ?? 0) + 1);
  return { close() {}, table: { total: pods.length, counted: counts.size, window: pods.slice(0, window) } };
}

async function measure(side, ...args) {
  globalThis.gc();
  const start = performance.now();
  const { close, table } = await side(...args);
  const millis = performance.now() - start;
  await close();
  return { millis, ...table };
}

const all = "/api/v1/pods";
await measure(ours); // warm-up, in which the connector lists its source
const results = { ours: [], list: [], page: [] };
for (let i = 0; i < rounds; i++) {
  const mine = await measure(ours);
  const list = await measure(listed, all);
  const page = await measure(listed, `${all}?limit=500`);
  if (mine.total !== list.total || mine.counted !== list.counted) throw new Error(`the tables differ: ${JSON.stringify([mine.total, mine.counted, list.total, list.counted])}`);
  results.ours.push(mine.millis);
  results.list.push(list.millis);
  results.page.push(page.millis);
}
report(compare("list", results.ours, results.list, "ms", (mine, theirs) => theirs / mine));
report({
  case: "page",
  ratio: median(results.ours.map((mine, i) => mine / results.page[i])),
  sides: [
    { name: "ours", value: median(results.ours), unit: "ms" },
    { name: "first page of 500", value: median(results.page), unit: "ms" },
  ],
});
process.exit();
