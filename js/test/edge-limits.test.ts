// Tests of the limits for the readers of an object, in workerd: their number, their message
// rate, and the size of their unread data.

import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { get } from "node:http";
import { describe, test } from "node:test";
import { WebSocket } from "ws";
import { Backlog, type Account } from "../src/edge/backlog.js";
import { withDefaults } from "../src/edge/options.js";
import { TokenBucket } from "../src/edge/token-bucket.js";
import { Writer } from "../src/wire/codec.js";
import { caughtUp, everything, hello, rawReader, relists, setup, statuses, subscribe, type Edge, type Setup } from "./edge-fixture.js";
import { packaged } from "./paths.js";

const skip = existsSync(packaged("dist", "watchglass.wasm")) ? false : 'dist/ is not built; run "npm run build" after "make wasm"';
const options = { skip };

const ended = (socket: WebSocket): Promise<string> => new Promise((resolve) => socket.on("close", (code, reason) => resolve(`${code} ${reason}`)));

/** Resolves with the HTTP response that refuses an upgrade to a WebSocket. */
function refusal(edge: Edge, object: string): Promise<{ code: number; retryAfter: string | undefined; body: any }> {
  const headers = {
    "x-watchglass-grant": JSON.stringify(everything), Connection: "Upgrade", Upgrade: "websocket", "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==", "Sec-WebSocket-Protocol": "watchglass.v2",
  };
  return new Promise((resolve, reject) =>
    get(edge.url(`${object}/watch`), { headers }, async (response) => {
      let body = "";
      for await (const chunk of response) body += chunk;
      resolve({ code: response.statusCode!, retryAfter: response.headers["retry-after"], body: JSON.parse(body) });
    }).on("error", reject),
  );
}

/** Connects a reader that subscribes to all pods and then stops reading. */
async function deaf(s: Setup, object: string): Promise<WebSocket> {
  const socket = await rawReader(s.edge, everything, object);
  const w = new Writer();
  hello(w);
  subscribe(w, { id: 1, credit: 2 ** 40 });
  socket.send(w.take());
  await once(socket, "message");
  socket.pause();
  return socket;
}

describe("limits of readers", { concurrency: 3 }, () => {
  // The limit is below the platform's limit, so that the object itself can refuse the reader with a
  // Status.
  test("a reader beyond the limit is refused before the upgrade, and accepted after another has left", options, async (t) => {
    const object = "crowded";
    const s = await setup(t, object);
    const [first] = await Promise.all([rawReader(s.edge, everything, object), rawReader(s.edge, everything, object)]);
    const { code, retryAfter, body } = await refusal(s.edge, object);
    assert.deepEqual([code, retryAfter, body.kind, body.reason, body.details.retryAfterSeconds], [503, "10", "Status", "ServiceUnavailable", 10]);
    assert.match(body.message, /already serves 3 readers, the maximum/);
    const { body: status } = await s.edge.get(`${object}/status`);
    assert.deepEqual([status.readers, status.maxReaders], [3, 3]);
    first.close();
    await s.edge.until(`${object}/status`, ({ readers }) => readers === 2);
    await rawReader(s.edge, everything, object);
  });

  test("a page beyond the limit receives the reason through its WebSocket", options, async (t) => {
    const object = "crowded";
    const s = await setup(t, object);
    await Promise.all([rawReader(s.edge, everything, object), rawReader(s.edge, everything, object)]);
    const headers = { "x-watchglass-grant": JSON.stringify(everything), Origin: "https://example.com" };
    const page = new WebSocket(s.edge.url(`${object}/watch`, "ws"), "watchglass.v2", { headers });
    assert.match(await ended(page), /^1001 503 ServiceUnavailable: this object already serves 3 readers/);
  });

  // Other readers of the object stay connected and receive their data.
  test("only the reader that exceeds its message rate is disconnected", options, async (t) => {
    const object = "calm";
    const s = await setup(t, object);
    const chatty = await rawReader(s.edge, everything, object);
    const closed = ended(chatty);
    const w = new Writer();
    hello(w);
    chatty.send(w.take());
    for (let i = 0; i < 100; i++) chatty.send(new Uint8Array());
    assert.match(await closed, /^1013 429 TooManyRequests: this reader sends more than 5 messages per second/);
    s.connector.put("default/web-1", "web", "Failed");
    await caughtUp(s);
    const { body } = await s.edge.get(`${object}/status`);
    assert.deepEqual([body.readers, body.counters.readersRateLimited], [1, 1]);
  });

  test("a message with too many frames ends only its connection", options, async (t) => {
    const s = await setup(t, "one");
    const hostile = await rawReader(s.edge, everything, "one");
    const closed = ended(hostile);
    const w = new Writer();
    hello(w);
    for (let i = 0; i < 1024; i++) subscribe(w, { id: i + 1, credit: 0 });
    hostile.send(w.take());
    assert.match(await closed, / 413 RequestEntityTooLarge: a message has too many frames \(limit: max-message-frames\)/);
    s.connector.put("default/web-1", "web", "Failed");
    await caughtUp(s);
  });

  test("only the oversized selector is refused", options, async (t) => {
    const s = await setup(t, "one");
    const reader = await rawReader(s.edge, everything, "one");
    const w = new Writer();
    hello(w);
    const large: [id: number, labels: string, fields: string][] = [
      [1, "a=" + "x".repeat(8 << 10), ""],
      [2, "", Array.from({ length: 257 }, (_, i) => `metadata.name!=${i}`).join(",")],
      [3, `a in (${Array.from({ length: 1025 }, (_, i) => `v${i}`).join(",")})`, ""],
    ];
    for (const [id, labels, fields] of large) subscribe(w, { id, credit: 1 << 20, labels, fields });
    subscribe(w, { id: 4, credit: 1 << 20, labels: "a=b" });
    const answers = statuses(reader);
    reader.send(w.take());
    const causes = new Map<number, string>();
    for await (const { subscription, cause } of answers) {
      causes.set(subscription, cause);
      if (causes.size === 3) break;
    }
    assert.deepEqual([...causes], [[1, "max-selector-bytes"], [2, "max-selector-requirements"], [3, "max-selector-values"]]);
    assert.equal(reader.readyState, WebSocket.OPEN);
  });

  // The unread data of a reader counts as memory even if the reader still sends messages.
  test("readers with too much unread data are disconnected, and others stay", options, async (t) => {
    const object = "burdened";
    const s = await setup(t, object);
    const lazy = await Promise.all(Array.from({ length: 12 }, () => deaf(s, object)));
    const closed = Promise.race(lazy.map(ended));
    s.connector.padding = "x".repeat(100_000);
    const memory = async (): Promise<{ module: number; unacknowledged: number; limit: number }> => (await s.edge.get(`${object}/status`)).body.memory;
    for (let i = 0; i < 60; i++) {
      s.connector.put(`default/web-${i % 30}`, "web", `phase-${i}`);
      for (const socket of lazy) socket.send(new Uint8Array()); // shows that the reader is connected, but acknowledges no data
      if (i % 5 < 4) continue;
      await caughtUp(s);
      const { module, unacknowledged, limit } = await memory();
      assert.ok(module + unacknowledged < limit + (18 << 20), `${module} and ${unacknowledged} bytes of ${limit}`);
    }
    const { body } = await s.edge.get(`${object}/status`);
    assert.ok(body.counters.readersStalled > 0, "Pongs would have arrived too late");
    assert.ok(body.memory.unacknowledged > 20 << 20, "much data is unacknowledged");
    // The other readers have ten seconds to respond, and are not disconnected before then.
    await s.edge.until(`${object}/status`, ({ memory: { module, unacknowledged, limit } }) => module + unacknowledged <= limit);
    const gone = (await s.edge.get(`${object}/status`)).body.counters.readersStalled;
    assert.ok(gone < lazy.length, "only the necessary readers were disconnected");
    for (const socket of lazy) socket.resume();
    assert.match(await closed, /^1013 429 TooManyRequests: the object is short of memory, and this reader has \d+ unread bytes: connect again and resume$/);
    assert.equal((await s.wg.inspect()).reconnects, 0, "a working reader responds to Pings");
    assert.equal(await relists(s.wg), 1);
  });
});

describe("a backlog", () => {
  const reader = (unacknowledged = 0): Account => ({ unacknowledged, ping: undefined });

  test("sends no Ping while there is room", () => {
    const backlog = new Backlog();
    backlog.room = 1000;
    const readers = Array.from({ length: 10 }, () => reader());
    for (const r of readers) backlog.add(r);
    for (const r of readers) assert.equal(backlog.sent(r, 50), false);
    assert.equal(backlog.bytes, 500);
    assert.deepEqual([...backlog.pings(1)], []);
    assert.deepEqual([backlog.due, [...backlog.overdue(1e9)]], [0, []]);
  });

  test("pings the readers with the most bytes, and subtracts acknowledged bytes", () => {
    const backlog = new Backlog();
    backlog.room = 1000;
    const readers = [100, 700, 300].map(reader);
    for (const r of readers) backlog.add(r);
    const pinged = [...backlog.pings(1)];
    assert.deepEqual(pinged.map(([r]) => readers.indexOf(r)), [1, 2]);
    assert.deepEqual([...backlog.pings(2)], [], "a response is pending");
    backlog.sent(readers[1]!, 50); // sent after the Ping, so the Pong does not acknowledge these bytes
    backlog.pong(readers[1]!, pinged[0]![1] + 1);
    assert.equal(backlog.bytes, 1150, "a guessed mark is not accepted");
    backlog.pong(readers[1]!, pinged[0]![1]);
    assert.deepEqual([backlog.bytes, readers[1]!.unacknowledged], [450, 50]);
    backlog.pong(readers[1]!, pinged[0]![1]);
    assert.equal(backlog.bytes, 450, "it counts once");
    backlog.delete(readers[2]!);
    assert.equal(backlog.bytes, 150);
  });

  // A reader that has responded to its Ping is not pinged again merely because other readers have
  // not responded.
  test("does not ping readers again that have acknowledged everything", () => {
    const backlog = new Backlog();
    backlog.room = 1000;
    const [lazy, quick] = [reader(900), reader(300)] as const;
    backlog.add(lazy);
    backlog.add(quick);
    for (const [r, mark] of [...backlog.pings(1)]) if (r === quick) backlog.pong(r, mark);
    backlog.sent(lazy, 5000);
    backlog.sent(quick, 100);
    assert.deepEqual([...backlog.pings(2)], []);
  });

  test("yields readers without a Pong, those with the most bytes first, until there is room", () => {
    const backlog = new Backlog();
    backlog.room = 1000;
    const readers = [600, 900, 700].map(reader);
    for (const r of readers) backlog.add(r);
    assert.equal([...backlog.pings(1)].length, 3);
    assert.equal(backlog.due, 10_001);
    assert.deepEqual([...backlog.overdue(10_000)], []);
    const gone = [];
    for (const r of backlog.overdue(10_001)) {
      backlog.delete(r);
      gone.push(readers.indexOf(r));
    }
    assert.deepEqual(gone, [1, 2], "600 bytes have room");
    assert.equal(backlog.due, 0);
  });

  test("has no time for a Ping when all data is sent at once", () => {
    const backlog = new Backlog();
    backlog.room = 1000;
    const [pinged, fresh] = [reader(900), reader()] as const;
    backlog.add(pinged);
    backlog.add(fresh);
    assert.equal([...backlog.pings(1)].length, 1);
    assert.equal(backlog.sent(fresh, 32 << 20), true);
    assert.equal(backlog.slowest, pinged, "it had time to respond");
    backlog.delete(pinged);
    assert.equal(backlog.slowest, fresh);
  });

  test("continues with readers that were pinged before", () => {
    const backlog = new Backlog();
    backlog.room = 1000;
    const restored: Account = { unacknowledged: 2000, ping: { mark: 7, bytes: 1500, at: 1 } };
    backlog.add(restored);
    assert.equal(backlog.due, 10_001);
    backlog.pong(restored, 7);
    assert.equal(backlog.bytes, 500);
  });
});

test("a bucket allows a burst of ten seconds, and then its rate", () => {
  const bucket = new TokenBucket(10, 0);
  for (let i = 0; i < 100; i++) assert.ok(bucket.allows(10, 0, 0));
  assert.ok(!bucket.allows(10, 0, 0));
  const another = new TokenBucket(10, 0);
  for (let i = 0; i < 1000; i++) assert.ok(another.allows(10, 0, i * 100), "the rate is sustained");
  assert.ok(another.allows(90 * 4096, 0, 200_000), "a long message counts more");
  assert.ok(!another.allows(90 * 4096, 0, 200_000));
  const third = new TokenBucket(10, 0);
  assert.ok(third.allows(10, 90, 0), "a message that opens subscriptions counts more");
  assert.ok(!third.allows(10, 90, 0));
});

test("maxReaders cannot exceed the platform's WebSockets", () => {
  assert.equal(withDefaults({}).maxReaders, 4096);
  assert.throws(() => withDefaults({ maxReaders: 40_000 }), /maxReaders is 40000, expected at most 32000/);
});
