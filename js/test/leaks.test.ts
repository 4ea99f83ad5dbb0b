// Tests that closed views, watches and objects use no memory, either in the engine or in the page.

import assert from "node:assert/strict";
import { test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { Client } from "../src/client.js";
import { startEngine } from "../src/start.js";
import { TestCluster } from "../src/testing.js";
import { optionsOf, pod, skip as noModule } from "./cluster.js";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

const total = 10_000;
const warmUp = 2_000;
const together = 100;
/**
 * The maximum number of bytes by which memory may grow in a round. The tolerance is 70 bytes for
 * each of the round's 30,000 views, watches and objects.
 */
const tolerance = 2 << 20;

test("10,000 views, watches and objects that are opened and closed leave no memory behind", { skip: noModule, timeout: 120_000 }, async (t) => {
  const cluster = new TestCluster();
  for (let i = 0; i < 5; i++) cluster.apply(pod(`web-${i}`));
  const { wasm } = await optionsOf(cluster);
  const engine = await startEngine({ url: cluster.url, wasm: wasm as WebAssembly.Module, kubernetes: true, fetch: cluster.fetch });
  t.after(() => engine.close());
  const client = await Client.attach((events) => engine.attach(events), async () => "");
  const pods = client.collection("v1/pods");
  await pods.synced;

  const batch = async (): Promise<void> => {
    const views = Array.from({ length: together }, () => pods.view({ sort: "-name", limit: 10, facets: ["status.phase"] }));
    const watches = Array.from({ length: together }, () => pods.watch({ sendInitialEvents: true, labelSelector: "app=web" })[Symbol.asyncIterator]());
    const objects = Array.from({ length: together }, (_, i) => client.object("v1/pods", `default/web-${i % 5}`));
    await Promise.all([...views.map(({ ready }) => ready), ...watches.map((watch) => watch.next()), ...objects.map(({ ready }) => ready)]);
    cluster.update("v1/pods", "default/web-1", (object) => (object.metadata.labels.round = String(Math.random())));
    for (const each of [...views, ...objects]) each.close();
    await Promise.all(watches.map((watch) => watch.return!()));
  };
  const round = async (count: number): Promise<{ module: number; page: number }> => {
    for (let i = 0; i < count / together; i++) await batch();
    const { collections, watches, views, objects = 0 } = await client.inspect(); // the statistic "objects" is missing if there are none
    assert.deepEqual([collections, watches, views, objects], [1, 0, 0, 0]);
    assert.deepEqual(client.opened().map(({ type }) => type), ["collection"]);
    collectGarbage();
    return { module: engine.memoryBytes, page: process.memoryUsage().heapUsed };
  };
  const before = await round(warmUp);
  const after = await round(total);
  t.diagnostic(JSON.stringify({ before, after }));
  for (const part of ["module", "page"] as const) {
    assert.ok(after[part] - before[part] < tolerance, `the memory of the ${part} grew from ${before[part]} to ${after[part]} bytes`);
  }
});
