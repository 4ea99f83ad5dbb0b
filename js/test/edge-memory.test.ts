// Tests of the memory of an object, in workerd. An isolate has a limit of 128 MB, which the
// platform enforces and workerd does not.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { get } from "node:http";
import { setTimeout } from "node:timers/promises";
import { describe, test } from "node:test";
import { TestConnector } from "./connector.js";
import { backendPath, caughtUp, commandFrame, Edge, everything, listCommand, relists, setup, until, watchCommand } from "./edge-fixture.js";
import { packaged } from "./paths.js";
import { relief, restartMillis } from "../src/edge/memory.js";

const skip = existsSync(packaged("dist", "watchglass.wasm")) ? false : 'dist/ is not built; run "npm run build" after "make wasm"';
const options = { skip };
const MiB = 1 << 20;

test("memory relief", () => {
  const limit = 96 * MiB;
  const what = (moduleMiB: number, usedMiB: number, { bufferMiB = 0, restarted = false } = {}): string =>
    relief({ moduleBytes: moduleMiB * MiB, bufferBytes: bufferMiB * MiB, usedBytes: usedMiB * MiB, limit, restarted });
  assert.equal(what(95, 30), "none", "the module needs its memory");
  assert.equal(what(97, 20), "restart", "a new module has room for the objects");
  assert.equal(what(97, 20, { restarted: true }), "shed", "a restart did not release enough");
  assert.equal(what(97, 32), "shed", "the objects do not fit");
  assert.equal(what(80, 28, { bufferMiB: 17 }), "shed", "module and buffers together exceed the limit");
  assert.equal(what(60, 2), "restart", "the module needs little of its memory");
  assert.equal(what(60, 2, { restarted: true }), "none", "the last restart was recent");
  assert.equal(what(40, 0), "none", "the module is small");
  assert.ok(restartMillis > 0);
});

describe("the memory of an object", { concurrency: 3 }, () => {
  test("is released when it is unused, without effect on readers", options, async (t) => {
    const object = "outgrown";
    const connector = await TestConnector.start();
    t.after(() => connector.close());
    connector.padding = "x".repeat(1000);
    for (let i = 0; i < 6000; i++) connector.put(`default/web-${i}`, "web", "Running");
    const edge = await Edge.start(t);
    const feed = await edge.feed(connector, { object });
    const wg = await edge.read({ object });
    const pods = wg.collection("v1/pods");
    await pods.synced;
    const grown = await edge.until(`${object}/status`, ({ resources, memory }) => resources["v1/pods"].objects === 6000 && memory.module > 17 * MiB);
    assert.ok(grown.memory.module + grown.memory.buffers < 32 * MiB);
    const states = new Set<string>();
    pods.subscribe(() => states.add(pods.status.state));
    // Waits for the reader after every 300 changes. If the reader fell behind the window, it would
    // load the complete state again.
    const paced = async (i: number): Promise<void> => {
      if (i % 300 === 0) await until(pods, ({ resourceVersion }) => resourceVersion === String(connector.rv));
    };
    for (let i = 300; i < 6000; i++) {
      connector.delete(`default/web-${i}`);
      await paced(i);
    }
    connector.padding = "";
    for (let i = 0; i < 4200; i++) {
      connector.put("default/web-0", "web", `phase-${i}`); // these small events displace the large ones from the window
      await paced(i);
    }
    const { memory, counters } = await edge.until(`${object}/status`, ({ counters }) => counters.restarts > 0);
    assert.ok(memory.module < 8 * MiB, `${memory.module} bytes`);
    assert.equal(counters.restarts, 1);
    connector.put("default/web-1", "web", "Failed");
    await until(pods, ({ resourceVersion }) => resourceVersion === String(connector.rv));
    assert.equal(pods.progress.objects, 300);
    assert.deepEqual([...states.add(pods.status.state)], ["live"]);
    assert.equal((await wg.inspect()).reconnects, 0);
    assert.equal(await relists(wg), 1);
    assert.equal(feed.begun, 2, "on the same socket");
    assert.ok(connector.subscribes[1]! > 6000, "the cluster is not listed again");
  });

  test("that is too small for bodies drops them", options, async (t) => {
    const object = "tight";
    const connector = await TestConnector.start();
    t.after(() => connector.close());
    connector.padding = "x".repeat(30_000);
    for (let i = 0; i < 150; i++) connector.put(`default/web-${i}`, "web", "Running");
    const edge = await Edge.start(t);
    await edge.feed(connector, { object });
    const { memory } = await edge.until(`${object}/status`, ({ resources: { "v1/pods": pods } }) => pods.metadataOnly && pods.objects === 150 && pods.state === "live");
    assert.ok(memory.module < 8 * MiB, `${memory.module} bytes`);
    const wg = await edge.read({ object });
    const rows = wg.collection("v1/pods", { metadataOnly: true });
    await rows.synced;
    assert.equal(rows.progress.objects, 150);
    await assert.rejects(wg.collection("v1/pods").synced, { code: 413, message: /held without bodies/ });
    connector.put("default/web-1", "web", "Failed");
    await until(rows, ({ resourceVersion }) => resourceVersion === String(connector.rv));
  });

  // A collection that was stored without bodies loads them when the object starts with enough
  // memory.
  test("that is larger the next time loads bodies again", options, async (t) => {
    const object = "growing";
    const connector = await TestConnector.start();
    t.after(() => connector.close());
    connector.padding = "x".repeat(400);
    for (let i = 0; i < 100; i++) connector.put(`default/web-${i}`, "web", "Running");
    const edge = await Edge.start(t);
    const state = (metadataOnly: boolean) => ({ resources: { "v1/pods": pods } }: any): boolean => pods?.metadataOnly === metadataOnly && pods.state === "live" && pods.stored;
    await edge.feed(connector, { object });
    await edge.until(`${object}/status`, state(true));
    await edge.restart();
    await edge.feed(connector, { object });
    await edge.until(`${object}/status`, state(true));
    await edge.get(`${object}/grow`);
    await edge.restart();
    await edge.feed(connector, { object });
    await edge.until(`${object}/status`, state(false));
    const pods = (await edge.read({ object })).collection("v1/pods");
    await pods.synced;
    assert.equal((await pods.get("default/web-1")).kind, "Pod");
    assert.deepEqual([connector.subscribes.at(-1), connector.subscribes.filter((from) => from > 0).length], [0, 1], "it resumed in between");
  });

  test("that is too small without bodies closes the resource with a status", options, async (t) => {
    const object = "tightest";
    const connector = await TestConnector.start();
    t.after(() => connector.close());
    connector.put("default/web-1", "web", "Running");
    const edge = await Edge.start(t);
    await edge.feed(connector, { object });
    const { resources } = await edge.until(`${object}/status`, ({ resources: { "v1/pods": pods } }) => pods?.state === "closed");
    assert.equal(resources["v1/pods"].error.code, 413);
    const none = (await edge.read({ object })).collection("v1/pods", { metadataOnly: true });
    await assert.rejects(none.synced, { code: 413, message: /divide them by namespace/ });
  });

  test("limits unread responses", options, async (t) => {
    const s = await setup(t);
    const path = `one${backendPath(commandFrame(watchCommand({ resourceVersion: "130" })))}`;
    const ended: boolean[] = [];
    const watches = Array.from({ length: 4 }, () =>
      new Promise<import("node:http").IncomingMessage>((resolve) => {
        const request = get(s.edge.url(path), { headers: { "x-watchglass-grant": JSON.stringify(everything) }, agent: false }, (response) => {
          response.pause();
          response.on("error", () => ended.push(true));
          resolve(response);
        });
        t.after(() => request.destroy());
      }),
    );
    const responses = await Promise.all(watches);
    s.connector.padding = "x".repeat(100_000);
    let most = 0;
    for (let i = 0; i < 220; i++) {
      s.connector.put(`default/web-${i % 30}`, "web", `phase-${i}`);
      if (i % 20 === 0) await caughtUp(s);
      most = Math.max(most, (await s.edge.get("one/status")).body.memory.buffers);
    }
    await caughtUp(s);
    assert.ok(most > MiB, `${most} bytes waited`);
    assert.ok(most < 17 * MiB, `${most} bytes waited`);
    for (const response of responses) response.resume();
    while (ended.length === 0) await setTimeout(20);
    const list = await fetch(s.edge.url(`one${backendPath(commandFrame(listCommand({ limit: 500 })))}&all=true`), { headers: { "x-watchglass-grant": JSON.stringify(everything) } });
    assert.ok((await list.arrayBuffer()).byteLength > 3_000_000, "requests are served again");
    await s.edge.until("one/status", ({ memory }) => memory.buffers === 0);
  });
});
