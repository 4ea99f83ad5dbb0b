// Tests of readers that stop reading, in workerd, which does not report the amount of
// unsent data of a socket.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { describe, test } from "node:test";
import type { WebSocket } from "ws";
import { caughtUp, everything, hello, rawReader, relists, setup, subscribe, until, type Setup } from "./edge-fixture.js";
import { packaged } from "./paths.js";
import { split, Writer } from "../src/wire/codec.js";

const skip = existsSync(packaged("dist", "watchglass.wasm")) ? false : 'dist/ is not built; run "npm run build" after "make wasm"';
const options = { skip };

/**
 * Makes `count` changes to pods. It waits for the working reader after every ten changes, so that
 * this reader keeps up on a slow machine.
 */
async function put(s: Setup, count: number): Promise<void> {
  for (let i = 0; i < count; i++) {
    s.connector.put(`default/web-${i % 30}`, "web", `phase-${i}`);
    if (i % 10 === 9) await caughtUp(s);
  }
}

describe("a reader that stops reading", { concurrency: 3 }, () => {
  test("is disconnected without affecting others, and resumes", options, async (t) => {
    const object = "impatient";
    const s = await setup(t, object);
    const sockets: WebSocket[] = [];
    const slow = await s.edge.read({ object, sockets });
    const pods = slow.collection("v1/pods");
    await pods.synced;
    const reasons = new Set<string>();
    pods.subscribe(() => pods.status.error && reasons.add(pods.status.error.message));
    sockets[0]!.pause();
    s.connector.padding = "x".repeat(100_000);
    await put(s, 60);
    const status = await s.edge.until(`${object}/status`, ({ counters }) => counters.readersStalled > 0);
    assert.deepEqual([status.counters.readersStalled, status.readers], [1, 1]);
    sockets[0]!.resume();
    await until(pods, ({ resourceVersion, state }) => state === "live" && resourceVersion === String(s.connector.rv));
    assert.match([...reasons].join(), /accepted no data for 5 s/);
    assert.equal((await slow.inspect()).reconnects, 1);
    assert.equal(await relists(slow), 1, "it needed no new snapshot");
    assert.equal(s.pods.status.state, "live");
    assert.equal(await relists(s.wg), 1);
  });

  test("and with unlimited credit receives no more than there is room for", options, async (t) => {
    const object = "impatient";
    const s = await setup(t, object);
    const slow = await rawReader(s.edge, everything, object);
    const closed = new Promise<string>((resolve) => slow.on("close", (code, reason) => resolve(`${code} ${reason}`)));
    let bytes = 0;
    const begun = new Promise<void>((resolve) => slow.on("message", (data: Buffer) => {
      bytes += data.length;
      if ([...split(data)].some(({ type }) => type === 0x16)) resolve();
    }));
    const w = new Writer();
    hello(w);
    subscribe(w, { id: 1, credit: 2 ** 40 });
    slow.send(w.take());
    await begun;
    slow.pause();
    s.connector.padding = "x".repeat(100_000);
    await put(s, 200);
    const { counters } = await s.edge.until(`${object}/status`, ({ counters }) => counters.readersStalled > 0);
    assert.equal(counters.readersStalled, 1);
    slow.resume();
    assert.match(await closed, /^1013 429 TooManyRequests: this reader accepted no data/);
    assert.ok(bytes > 15 << 20 && bytes < 17 << 20, `${bytes} bytes of 20 million`);
  });

  test("while the object is evicted is disconnected by its alarm", options, async (t) => {
    const object = "patient";
    const s = await setup(t, object);
    const slow = await rawReader(s.edge, everything, object);
    const closed = new Promise<string>((resolve) => slow.on("close", (code, reason) => resolve(`${code} ${reason}`)));
    const w = new Writer();
    hello(w);
    subscribe(w, { id: 1, credit: 8_000 });
    slow.send(w.take());
    s.connector.padding = "x".repeat(2_000);
    await put(s, 10); // sends more than the credit of the reader
    const { body: before } = await s.edge.get(`${object}/status`);
    await s.edge.evict(object);
    assert.match(await closed, /^1013 429 TooManyRequests: this reader accepted no data for 20 s/);
    const { body } = await s.edge.get(`${object}/status`);
    assert.ok(body.awakeSince > before.awakeSince, "it was evicted in between");
    assert.deepEqual([body.counters.readersStalled, body.readers], [1, 1]);
    s.connector.put("default/web-1", "web", "Failed");
    await caughtUp(s);
    assert.equal(await relists(s.wg), 1, "the other readers stay connected");
  });
});
