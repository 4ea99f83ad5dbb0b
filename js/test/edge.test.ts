// Tests of the Durable Object in workerd, fed by a connector that connects to it.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { test, type TestContext } from "node:test";
import { split } from "../src/wire/codec.js";
import { readOutput, type Output } from "../src/wire/driver-outputs.js";
import { TestConnector } from "./connector.js";
import { backendPath, commandFrame, Edge, everything, listCommand, until } from "./edge-fixture.js";
import { packaged } from "./paths.js";

const skip = existsSync(packaged("dist", "watchglass.wasm")) ? false : 'dist/ is not built; run "npm run build" after "make wasm"';

async function setup(t: TestContext): Promise<{ edge: Edge; connector: TestConnector }> {
  const connector = await TestConnector.start();
  t.after(() => connector.close());
  connector.put("default/web-1", "web", "Running");
  connector.put("default/api-1", "api", "Running");
  return { edge: await Edge.start(t), connector };
}

test("readers receive the connector's changes", { skip }, async (t) => {
  const { edge, connector } = await setup(t);
  await edge.feed(connector);
  const pods = (await edge.read()).collection("v1/pods");
  await pods.synced;
  assert.equal(pods.progress.objects, 2);
  connector.put("default/web-1", "web", "Failed");
  const { items } = await pods.list({ resourceVersion: String(connector.rv), resourceVersionMatch: "NotOlderThan" });
  assert.deepEqual(items.map(({ metadata }) => metadata.resourceVersion), ["102", "103"]);
  const { body } = await edge.get("one/status");
  assert.deepEqual([body.readers, body.feeds.connected.length, body.feeds.connected[0].active, body.resources["v1/pods"].state], [1, 1, true, "live"]);
});

test("the pages of a list have one version despite a thousand changes", { skip }, async (t) => {
  const { edge, connector } = await setup(t);
  await edge.feed(connector);
  const pods = (await edge.read()).collection("v1/pods");
  await pods.synced;
  const page = async (token: string) => {
    const response = await fetch(edge.url(`one${backendPath(commandFrame(listCommand({ limit: 1, continue: token })))}`), { headers: { "x-watchglass-grant": JSON.stringify(everything) } });
    if (!response.ok) assert.fail(await response.text());
    const [frame] = split(new Uint8Array(await response.arrayBuffer()));
    return readOutput(frame!) as Output & { type: "ListReply" };
  };
  const first = await page("");
  // These changes must arrive within 75 s, because the window may drop older ones.
  for (let i = 0; i < 1_000; i++) connector.put("default/api-1", "api", `phase-${i}`);
  await until(pods, ({ resourceVersion }) => resourceVersion === String(connector.rv));
  const second = await page(first.continue);
  assert.deepEqual([second.resourceVersion, second.items.length, second.continue], [first.resourceVersion, 1, ""]);
});

test("requests without a sufficient grant are refused with a Status", { skip }, async (t) => {
  const { edge, connector } = await setup(t);
  const { code, body } = await edge.get("one/status", null);
  assert.deepEqual([code, body.kind, body.reason], [401, "Status", "Unauthorized"]);
  assert.equal((await edge.get("one/status", { ...everything, expires: 1 })).code, 401);
  assert.equal((await edge.get("one/status", { resources: "*" })).code, 401);
  assert.equal((await edge.get("one/nothing")).code, 404);
  assert.equal((await edge.get("one/watch")).code, 426);
  await assert.rejects(edge.feed(connector, { grant: everything }), /403/);
  await assert.rejects(edge.feed(connector, { grant: { ...everything, feed: true, resources: ["v1/nodes"] } }), /403/);
  await assert.rejects(edge.feed(connector, { grant: { ...everything, feed: true, namespaces: ["default"] } }), /403/);
  await assert.rejects(edge.feed(connector, { resources: "" }), /400/);
});

test("an object wakes up with an event, and its readers receive only that event", { skip }, async (t) => {
  const { edge, connector } = await setup(t);
  const feed = await edge.feed(connector);
  const wg = await edge.read();
  const pods = wg.collection("v1/pods");
  await pods.synced;
  const states = new Set<string>();
  pods.subscribe(() => states.add(pods.status.state));
  await edge.evict();
  connector.put("default/web-2", "web", "Running");
  const { items } = await pods.list({ resourceVersion: String(connector.rv), resourceVersionMatch: "NotOlderThan" });
  assert.equal(items.length, 3);
  assert.deepEqual([...states.add(pods.status.state)], ["live"]);
  assert.equal(feed.begun, 2, "one session before and one after");
  assert.deepEqual(connector.subscribes, [0, 102], "it resumes from the stored state");
  const { reconnects, "collection.1.relists": relists } = await wg.inspect();
  assert.deepEqual({ reconnects, relists }, { reconnects: 0, relists: 1 });
});

test("a region reads from its home while it has readers", { skip }, async (t) => {
  const { edge, connector } = await setup(t);
  await edge.feed(connector, { object: "home" });
  await edge.until("home/status", ({ resources }) => resources["v1/pods"].state === "live");
  assert.equal((await edge.get("home/status")).body.readers, 0);
  const readers = await Promise.all([1, 2, 3].map(() => edge.read({ object: "region" })));
  const all = readers.map((wg) => wg.collection("v1/pods"));
  await Promise.all(all.map((pods) => pods.synced));
  connector.put("default/web-2", "web", "Running");
  for (const pods of all) {
    await until(pods, ({ objects }) => objects === 3);
    assert.equal((await pods.get("default/web-2")).kind, "Pod");
  }
  assert.deepEqual(connector.subscribes, [0], "one request reaches the connector");
  assert.equal((await edge.get("home/status")).body.readers, 1);
  await assert.rejects(edge.feed(connector, { object: "region" }), /409/);

  readers.push(await edge.read({ object: "region" }));
  const stranger = readers.at(-1)!.collection("v1/nodes");
  await until(stranger, ({ state }) => state === "forbidden"); // the region reads only pods from the home object

  // A new reader receives the stored state of the region, before the home object responds.
  await edge.until("region/status", ({ resources }) => resources["v1/pods"].stored?.resourceVersion === "103");
  for (const wg of readers) wg.close();
  await edge.until("home/status", ({ readers }) => readers === 0);
  const next = (await edge.read({ object: "region" })).collection("v1/pods");
  await next.synced;
  assert.equal(next.progress.objects, 3);
});

test("an object wakes up to send progress", { skip }, async (t) => {
  const { edge, connector } = await setup(t);
  connector.progressMillis = 20_000;
  await edge.feed(connector, { object: "seldom" });
  const pods = (await edge.read({ object: "seldom" })).collection("v1/pods");
  await pods.synced;
  const before = pods.progress.lastProgress;
  assert.ok(before > 0);
  await until(pods, ({ lastProgress }) => lastProgress !== before);
  assert.equal(pods.status.state, "live");
  const { body } = await edge.get("seldom/status");
  assert.ok(body.awakeSince > before + 10_000, "it was evicted in between");
});

test("a reader with too many subscriptions to attach reconnects when the object wakes up", { skip }, async (t) => {
  const { edge, connector } = await setup(t);
  await edge.feed(connector);
  const wg = await edge.read();
  const many = Array.from({ length: 200 }, (_, i) => wg.collection("v1/pods", { labelSelector: `app!=${"x".repeat(50)}${i}` }));
  await Promise.all(many.map((pods) => pods.synced));
  await edge.evict();
  connector.put("default/web-2", "web", "Running");
  await Promise.all(many.map((pods) => until(pods, ({ objects, state }) => objects === 3 && state === "live")));
  const inspected = await wg.inspect();
  assert.equal(inspected.reconnects, 1);
  assert.equal(inspected["collection.1.relists"], 1, "it resumes from its state");
});
