// Tests of failures at the edge, in workerd: lost connectors and objects, corrupt bytes, and
// exceeded limits.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { setTimeout } from "node:timers/promises";
import { describe, test } from "node:test";
import { Reader, split, Writer } from "../src/wire/codec.js";
import { TestConnector } from "./connector.js";
import { caughtUp, Edge, everything, hello, rawReader, relists, setup, subscribe, until } from "./edge-fixture.js";
import { packaged } from "./paths.js";

const skip = existsSync(packaged("dist", "watchglass.wasm")) ? false : 'dist/ is not built; run "npm run build" after "make wasm"';
const options = { skip };

describe("the edge", { concurrency: 3 }, () => {
  test("after a redeploy the object restores its stored state and resumes", options, async (t) => {
    const s = await setup(t);
    s.connector.put("default/web-1", "web", "Failed");
    const { usedBytes, history, events, relists, expired } = (await s.edge.until("one/status", ({ resources }) => resources["v1/pods"].stored?.resourceVersion === "131")).resources["v1/pods"].cache;
    assert.deepEqual({ history, events, relists, expired }, { history: 1, events: 1, relists: 1, expired: 0 });
    assert.ok(usedBytes > 0);
    await s.edge.restart();
    s.connector.put("default/web-2", "web", "Failed");
    assert.match(await s.feed.closed, /^1006/);
    await s.edge.feed(s.connector);
    await s.edge.until("one/status", ({ resources }) => resources["v1/pods"].resourceVersion === "132");
    assert.deepEqual(s.connector.subscribes, [0, 131]);
    // The first reader still dials the address of the previous workerd, so the test connects a new
    // reader, which receives all objects.
    const late = (await s.edge.read()).collection("v1/pods");
    await late.synced;
    assert.equal(late.progress.objects, 30);
  });

  test("a standby connector continues where the other stopped", options, async (t) => {
    const s = await setup(t);
    const second = await s.edge.feed(s.connector);
    const seen: string[] = [];
    const watching = (async () => {
      for await (const event of s.pods.watch({ resourceVersion: "130" })) {
        if (event.type === "MODIFIED") seen.push(event.object.metadata.resourceVersion);
        if (seen.length === 20) return;
      }
    })();
    const states = new Set<string>();
    s.pods.subscribe(() => states.add(s.pods.status.state));
    for (let i = 0; i < 20; i++) {
      s.connector.put("default/web-1", "web", `phase-${i}`);
      if (i === 9) s.feed.socket.terminate();
      if (i === 9) assert.equal(second.begun, 0);
      await setTimeout(20);
    }
    await watching;
    assert.deepEqual(seen, Array.from({ length: 20 }, (_, i) => String(131 + i)), "each once, in order");
    assert.equal(second.begun, 1);
    assert.equal(s.connector.subscribes.length, 2);
    assert.ok(s.connector.subscribes[1]! >= 130, "without a snapshot");
    assert.deepEqual([...states.add(s.pods.status.state)], ["live"]);
  });

  test("an object that leaves memory at any moment neither loses nor repeats events", options, async (t) => {
    const s = await setup(t);
    const seen: string[] = [];
    const watching = (async () => {
      for await (const event of s.pods.watch({ resourceVersion: "130" })) {
        if (event.type === "MODIFIED") seen.push(event.object.metadata.resourceVersion);
        if (seen.length === 60) return;
      }
    })();
    for (let i = 0; i < 60; i++) {
      s.connector.put(`default/web-${i % 30}`, "web", `phase-${i}`);
      if (i % 3 === 0) await s.edge.evictNow();
      if (i % 20 === 0) await s.edge.evict();
    }
    await watching;
    assert.deepEqual(seen, Array.from({ length: 60 }, (_, i) => String(131 + i)), "each once, in order");
    assert.ok(s.feed.begun > 20, `${s.feed.begun} sessions on the same socket`);
    assert.equal(s.connector.subscribes.filter((rv) => rv === 0).length, 1, "one snapshot");
    assert.equal(await relists(s.wg), 1);
  });

  test("after a lost feed, readers see reconnecting, then stale, and keep their data", options, async (t) => {
    const connector = await TestConnector.start();
    connector.progressMillis = 3_000;
    t.after(() => connector.close());
    connector.put("default/web-1", "web", "Running");
    const edge = await Edge.start(t);
    const object = "lively";
    const beat = setInterval(() => connector.progress(), 1_000);
    t.after(() => clearInterval(beat));
    const feed = await edge.feed(connector, { object });
    await edge.until("lively/status", ({ resources }) => resources["v1/pods"].state === "live");
    const pods = (await edge.read({ object })).collection("v1/pods");
    await pods.synced;
    const states: string[] = [];
    pods.subscribe(() => states.at(-1) !== pods.status.state && states.push(pods.status.state));
    feed.socket.terminate();
    const { error, objects } = await until(pods, ({ state }) => state === "stale");
    assert.match(error!.message, /no connection to its connector/);
    assert.equal(objects, 1);
    assert.equal((await pods.list({ resourceVersion: "0" })).items.length, 1);
    await edge.feed(connector, { object });
    connector.put("default/web-2", "web", "Running");
    await until(pods, ({ state, objects }) => state === "live" && objects === 2);
    assert.deepEqual(states.filter((state) => state !== "live"), ["reconnecting", "stale"]);
  });

  test("a feed that sends garbage is closed, and no event is lost", options, async (t) => {
    const s = await setup(t);
    for (const [i, garbage] of [Buffer.from([0x17, 3, 1]), Buffer.from([0x7f, 0]), "what is this"].entries()) {
      const feed = i === 0 ? s.feed : await s.edge.feed(s.connector);
      await s.edge.until("one/status", ({ feeds }) => feeds.connected[0]?.active);
      feed.socket.send(garbage);
      assert.match(await feed.closed, /^1002/);
      assert.equal((await s.edge.get("one/status")).body.resources["v1/pods"].objects, 30);
    }
    await s.edge.feed(s.connector);
    s.connector.put("default/web-1", "web", "Failed");
    await caughtUp(s);
    assert.equal(await relists(s.wg), 1);
    assert.ok(s.connector.subscribes.slice(1).every((rv) => rv >= 130));
  });

  test("another cluster is refused unless it replaces the first", options, async (t) => {
    const s = await setup(t);
    await s.edge.until("one/status", ({ resources }) => resources["v1/pods"].stored);
    const other = await TestConnector.start();
    t.after(() => other.close());
    other.clusterID = "other";
    other.put("default/strange", "web", "Running");
    await assert.rejects(s.edge.feed(other), /409/, "the first cluster is connected");
    await assert.rejects(s.edge.feed(s.connector, { resources: "v1/nodes" }), /409/, "another resource conflicts as well");
    s.feed.socket.terminate();
    await s.edge.until("one/status", ({ feeds }) => feeds.connected.length === 0);
    await assert.rejects(s.edge.feed(other), /409/, "the first cluster has disconnected");
    const liar = await s.edge.feed(other, { clusterID: "test" });
    assert.match(await liar.closed, /^1008 409 Conflict: v1\/pods is from cluster other/);
    const unnamed = await s.edge.feed(other, { clusterID: "" });
    assert.match(await unnamed.closed, /^1008 409 Conflict/);
    assert.equal((await s.edge.get("one/status")).body.resources["v1/pods"].objects, 30);
    await s.edge.feed(other, { replace: true });
    await until(s.pods, ({ objects, state }) => objects === 1 && state === "live");
    await assert.rejects(s.edge.feed(s.connector), /409/);
  });

  test("a connection ends when its token expires", options, async (t) => {
    const s = await setup(t);
    const expires = Math.floor(Date.now() / 1000) + 3;
    const standby = await s.edge.feed(s.connector, { grant: { ...everything, feed: true, expires } });
    const reader = await rawReader(s.edge, { ...everything, expires });
    const last = new Promise<number>((resolve) => reader.on("message", (data: Buffer) => {
      for (const { type, payload } of split(data)) {
        if (type !== 0x19) continue;
        const r = new Reader(payload, "SubscriptionStatus");
        assert.equal(r.uvarint(), 0, "for the whole connection");
        resolve(r.uvarint());
      }
    }));
    const closed = new Promise<string>((resolve) => reader.on("close", (code, reason) => resolve(`${code} ${reason}`)));
    const w = new Writer();
    hello(w);
    subscribe(w, { id: 1, credit: 1 << 20 });
    reader.send(w.take());
    assert.equal(await last, 401);
    assert.match(await closed, /^1008 401 Unauthorized: the token has expired/);
    assert.match(await standby.closed, /^1008 401/);
    s.connector.put("default/web-1", "web", "Failed");
    await caughtUp(s);
    assert.equal(s.pods.status.state, "live", "the other readers stay connected");
  });

  test("a connection ends when its token expires while the object is out of memory", options, async (t) => {
    const s = await setup(t);
    const reader = await rawReader(s.edge, { ...everything, expires: Math.floor(Date.now() / 1000) + 12 });
    const closed = new Promise<string>((resolve) => reader.on("close", (code, reason) => resolve(`${code} ${reason}`)));
    const w = new Writer();
    hello(w);
    subscribe(w, { id: 1, credit: 1 << 20 });
    reader.send(w.take());
    await s.edge.evict();
    const evicted = Date.now();
    assert.match(await closed, /^1008 401 Unauthorized: the token has expired/);
    const { body } = await s.edge.get("one/status");
    assert.ok(body.awakeSince >= evicted);
    assert.equal(body.readers, 1, "the other reader stays connected");
  });

  test("a reader that does not read does not affect others, and starts over later", options, async (t) => {
    const s = await setup(t);
    const slow = await rawReader(s.edge, everything);
    let bytes = 0;
    const ended = new Promise<number>((resolve) => {
      slow.on("message", (data: Buffer) => {
        bytes += data.length;
        for (const { type } of split(data)) if (type === 0x19) resolve(bytes);
      });
    });
    const w = new Writer();
    hello(w);
    subscribe(w, { id: 1, credit: 8_000 });
    slow.send(w.take());
    for (let i = 0; i < 5_000; i++) s.connector.put(`default/web-${i % 30}`, "web", `phase-${i}`);
    await caughtUp(s);
    assert.equal(s.pods.progress.objects, 30);
    assert.ok(bytes < 20_000, `${bytes} bytes were sent to who takes 8,000`);
    w.frame(0x04, () => (w.uvarint(1), w.uvarint(1 << 20)));
    slow.send(w.take());
    await ended;
    slow.close();
  });

  test("a full storage is reported, and later changes are held only in memory", options, async (t) => {
    const s = await setup(t, "full");
    for (let i = 0; i < 300; i++) s.connector.put(`default/more-${i}`, "web", "Running");
    const body = await s.edge.until("full/status", ({ resources }) => resources["v1/pods"].storeError);
    assert.match(body.resources["v1/pods"].storeError, /the storage is full/);
    assert.ok(body.storage.bytes <= 60_000, `${body.storage.bytes} bytes`);
    s.connector.put("default/web-1", "web", "Failed");
    await caughtUp(s);
    assert.equal(s.pods.progress.objects, 330);
    await s.edge.restart();
    await s.edge.feed(s.connector, { object: "full" });
    const late = (await s.edge.read({ object: "full" })).collection("v1/pods");
    await late.synced;
    assert.equal(late.progress.objects, 330);
  });

  test("full memory drops bodies first, then the resource", options, async (t) => {
    const connector = await TestConnector.start();
    t.after(() => connector.close());
    connector.padding = "x".repeat(400);
    for (let i = 0; i < 100; i++) connector.put(`default/web-${i}`, "web", "Running");
    const edge = await Edge.start(t);
    await edge.feed(connector, { object: "scarce" });
    await edge.until("scarce/status", ({ resources: { "v1/pods": pods } }) => pods.metadataOnly && pods.state === "live");
    const wg = await edge.read({ object: "scarce" });
    const rows = wg.collection("v1/pods", { metadataOnly: true });
    await rows.synced;
    assert.equal(rows.progress.objects, 100);
    const whole = wg.collection("v1/pods");
    await assert.rejects(whole.synced, { code: 413, message: /held without bodies/ });
    connector.put("default/web-100", "web", "Running");
    await until(rows, ({ objects }) => objects === 101);

    await edge.feed(connector, { object: "tiny" });
    await edge.until("tiny/status", ({ resources: { "v1/pods": pods } }) => pods.metadataOnly && pods.state === "closed");
    const none = (await edge.read({ object: "tiny" })).collection("v1/pods", { metadataOnly: true });
    await assert.rejects(none.synced, { code: 413, message: /divide them by namespace/ });
  });

  test("an object larger than a row is stored", options, async (t) => {
    const s = await setup(t);
    s.connector.padding = "x".repeat(3_000_000);
    s.connector.put("default/huge", "web", "Running");
    s.connector.padding = "";
    s.connector.put("default/small", "web", "Running");
    await s.edge.until("one/status", ({ resources }) => resources["v1/pods"].stored?.resourceVersion === "132");
    assert.equal((await s.edge.get("one/largest")).body.bytes < 2_000_000, true);
    await s.edge.restart();
    assert.equal((await s.edge.get("one/status")).body.resources["v1/pods"].objects, 32);
    await s.edge.feed(s.connector);
    const pods = (await s.edge.read()).collection("v1/pods");
    await pods.synced;
    const { spec } = (await pods.get("default/huge")) as unknown as { spec: { padding: string } };
    assert.equal(spec.padding.length, 3_000_000);
    assert.deepEqual(s.connector.subscribes, [0, 132]);
  });

  test("corrupt rows are deleted, and the resource is loaded again", options, async (t) => {
    const s = await setup(t);
    await s.edge.until("one/status", ({ resources }) => resources["v1/pods"].stored);
    await s.edge.get("one/damage");
    await s.edge.restart();
    const { body } = await s.edge.get("one/status");
    assert.deepEqual([body.resources["v1/pods"].objects, body.resources["v1/pods"].stored], [0, undefined]);
    await s.edge.feed(s.connector);
    await s.edge.until("one/status", ({ resources }) => resources["v1/pods"].stored?.resourceVersion === "130");
    assert.deepEqual(s.connector.subscribes, [0, 0]);
    await s.edge.restart();
    assert.equal((await s.edge.get("one/status")).body.resources["v1/pods"].objects, 30);
  });

  // The edge object reads stored bodies only when a reader requests one of them, not when the edge
  // object wakes up.
  test("corrupt bodies are detected on access, deleted, and loaded again", options, async (t) => {
    const s = await setup(t);
    await s.edge.until("one/status", ({ resources }) => resources["v1/pods"].stored);
    await s.edge.get("one/damage-bodies");
    await s.edge.restart();
    assert.equal((await s.edge.get("one/status")).body.resources["v1/pods"].objects, 30);
    await s.edge.feed(s.connector);
    await s.edge.until("one/status", ({ resources }) => resources["v1/pods"].state === "live");
    assert.deepEqual(s.connector.subscribes, [0, 130]);
    const pods = (await s.edge.read()).collection("v1/pods");
    await pods.synced;
    assert.equal((await pods.list()).items.length, 30);
    assert.deepEqual(s.connector.subscribes, [0, 130, 0]);
    await s.edge.until("one/status", ({ resources }) => resources["v1/pods"].stored?.resourceVersion === "130");
    await s.edge.restart();
    await s.edge.feed(s.connector);
    const again = (await s.edge.read()).collection("v1/pods");
    await again.synced;
    assert.equal((await again.list()).items.length, 30, "from the state stored since");
    assert.deepEqual(s.connector.subscribes, [0, 130, 0, 130]);
  });
});
