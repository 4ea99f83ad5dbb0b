// Tests objects that each serve some of the namespaces, in workerd. host/internal/edge tests the
// routing of requests to these objects, and runs the objects with a real connector.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { describe, test, type TestContext } from "node:test";
import { shardOf } from "../src/edge/clusters.js";
import { TestConnector } from "./connector.js";
import { Edge, until } from "./edge-fixture.js";
import { packaged } from "./paths.js";

const skip = existsSync(packaged("dist", "watchglass.wasm")) ? false : 'dist/ is not built; run "npm run build" after "make wasm"';
const options = { skip };

const shards = ["0-of-2", "1-of-2"];
const namespaces = Array.from({ length: 10 }, (_, i) => `team-${i}`);
const [here, there] = shards.map((shard) => namespaces.find((namespace) => shardOf(namespace, 2) === shard)!) as [string, string];

async function setup(t: TestContext, padding = ""): Promise<{ edge: Edge; connector: TestConnector }> {
  const connector = await TestConnector.start();
  t.after(() => connector.close());
  connector.padding = padding;
  for (let i = 0; i < 100; i++) connector.put(`${namespaces[i % namespaces.length]}/web-${i}`, "web", "Running");
  return { edge: await Edge.start(t), connector };
}

const live = (objects: number) => ({ resources: { "v1/pods": pods } }: any): boolean => pods?.state === "live" && pods.objects === objects;
const shed = ({ resources: { "v1/pods": pods } }: any): boolean => pods?.state === "live" && pods.metadataOnly;
const countOf = (shard: string): number => 10 * namespaces.filter((namespace) => shardOf(namespace, 2) === shard).length;

describe("objects that are divided by namespace", { concurrency: 3 }, () => {
  test("two objects hold more than one has memory for", options, async (t) => {
    const { edge, connector } = await setup(t, "x".repeat(400));
    await edge.feed(connector, { object: "scarce" });
    await edge.until("scarce/status", shed);
    for (const shard of shards) {
      const object = `scarce-${shard}`;
      await edge.feed(connector, { object, shard });
      const { resources } = await edge.until(`${object}/status`, live(countOf(shard)));
      assert.equal(resources["v1/pods"].metadataOnly, false, shard);
    }
    // One object exceeds its limit, and the other does not.
    for (let i = 0; i < 60; i++) connector.put(`${here}/more-${i}`, "web", "Running");
    await edge.until(`scarce-${shards[0]}/status`, shed);
    const { resources } = await edge.until(`scarce-${shards[1]}/status`, live(countOf(shards[1]!)));
    assert.equal(resources["v1/pods"].metadataOnly, false);
    // When the additional pods are deleted, the object that exceeded its limit recovers.
    for (let i = 0; i < 60; i++) connector.delete(`${here}/more-${i}`);
    await edge.until(`scarce-${shards[0]}/status`, live(countOf(shards[0]!)));
  });

  test("each has a standby connector and restores its stored state", options, async (t) => {
    const { edge, connector } = await setup(t);
    const feeds = await Promise.all(shards.map((shard) => edge.feed(connector, { object: shard, shard })));
    for (const shard of shards) await edge.until(`${shard}/status`, live(countOf(shard)));
    const standby = await Promise.all(shards.map((shard) => edge.feed(connector, { object: shard, shard })));
    feeds[0]!.socket.terminate();
    connector.put(`${here}/late`, "web", "Running");
    await edge.until(`${shards[0]}/status`, live(countOf(shards[0]!) + 1));
    assert.deepEqual([standby[0]!.begun, feeds[1]!.begun, standby[1]!.begun], [1, 1, 0], "the other object continues as before");
    assert.deepEqual(connector.subscribes.slice(0, 2), [0, 0]);
    assert.ok(connector.subscribes.length === 3 && connector.subscribes[2]! >= 200, "without a snapshot");
    const { rv } = connector;
    for (const shard of shards) await edge.until(`${shard}/status`, ({ resources }) => Number(resources["v1/pods"].stored?.resourceVersion) >= (shard === shards[0] ? rv : 200));

    await edge.restart();
    connector.put(`${there}/later`, "web", "Running");
    for (const shard of shards) await edge.feed(connector, { object: shard, shard });
    await edge.until(`${shards[1]}/status`, live(countOf(shards[1]!) + 1));
    await edge.until(`${shards[0]}/status`, live(countOf(shards[0]!) + 1));
    assert.ok(connector.subscribes.slice(3).every((from) => from >= 200), `both resume: ${connector.subscribes}`);
  });

  test("a reader gets complete data or is refused, also after the object left memory", options, async (t) => {
    const { edge, connector } = await setup(t);
    const [shard] = shards as [string];
    await edge.feed(connector, { object: "one", shard });
    await edge.until("one/status", live(countOf(shard)));
    const wg = await edge.read({ query: `namespace=${here}&shard=${shard}` });
    const narrow = wg.collection("v1/pods", { namespace: here });
    await narrow.synced;
    assert.equal(narrow.progress.objects, 10);
    const whole = await edge.read({ query: `shard=${shard}` });
    const all = whole.collection("v1/pods");
    await all.synced;
    assert.equal(all.progress.objects, countOf(shard));
    await edge.evict();
    for (const namespace of ["", there]) {
      const none = wg.collection("v1/pods", { namespace });
      await assert.rejects(none.synced, { code: 400, message: /divided over several objects of this edge. This one has shard 0-of-2/ });
    }
    await assert.rejects(whole.collection("v1/pods", { namespace: there }).synced, { code: 400, message: /is not in it: connect with \?resource=v1\/pods&namespace=NAME/ });
    connector.put(`${here}/late`, "web", "Running");
    connector.put(`${there}/late`, "web", "Running");
    await until(narrow, ({ objects }) => objects === 11);
    await until(all, ({ objects }) => objects === countOf(shard) + 1);
  });
});
