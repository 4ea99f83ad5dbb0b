// Tests of hostile and broken readers and feeds, in workerd. The object must disconnect these
// clients without any effect on others.

import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { describe, test } from "node:test";
import type { WebSocket } from "ws";
import { Reader, split, Writer } from "../src/wire/codec.js";
import { backendPath, caughtUp, commandFrame, everything, hello, listCommand, rawReader, relists, setup, subscribe, watchCommand, type Setup } from "./edge-fixture.js";
import { packaged } from "./paths.js";

const skip = existsSync(packaged("dist", "watchglass.wasm")) ? false : 'dist/ is not built; run "npm run build" after "make wasm"';
const options = { skip };

/** Resolves with the code and the message of the status that ends a reader's connection. */
function lastWord(socket: WebSocket): Promise<[code: number, message: string]> {
  return new Promise((resolve) =>
    socket.on("message", (data: Buffer) => {
      for (const { type, payload } of split(data)) {
        const r = new Reader(payload, "SubscriptionStatus");
        if (type !== 0x19 || r.uvarint() !== 0) continue;
        const code = r.uvarint();
        r.text();
        resolve([code, r.text()]);
      }
    }),
  );
}

/** Checks that well-behaved readers are unaffected. */
async function othersAreWell(s: Setup): Promise<void> {
  s.connector.put("default/web-1", "web", `phase-${s.connector.rv}`);
  await caughtUp(s);
  assert.equal(s.pods.status.state, "live");
  assert.equal((await s.wg.inspect()).reconnects, 0);
  assert.equal(await relists(s.wg), 1);
}

/** Returns one message that contains these frames. */
function message(...frames: ((w: Writer) => void)[]): Uint8Array {
  const w = new Writer();
  for (const frame of frames) frame(w);
  return w.take();
}

describe("hostile clients of the edge", { concurrency: 3 }, () => {
  // A valid token alone is not enough: every reader must send a Hello.
  test("readers without a Hello are disconnected", options, async (t) => {
    const s = await setup(t);
    const silent = await Promise.all(Array.from({ length: 100 }, () => rawReader(s.edge, everything)));
    silent[0]!.send(new Uint8Array()); // an empty message is not a Hello
    for (const [code, message] of await Promise.all(silent.map(lastWord))) {
      assert.equal(code, 408);
      assert.match(message, /no Hello was received in time/);
    }
    assert.equal((await s.edge.get("one/status")).body.readers, 1);
    await othersAreWell(s);
  });

  test("a malformed message disconnects only its reader", options, async (t) => {
    const s = await setup(t);
    const messages: [what: RegExp, bad: string | Uint8Array][] = [
      [/received Subscribe before Hello/, message((w) => subscribe(w, { id: 1, credit: 1000 }))],
      [/received a second Hello/, message(hello, hello)],
      [/subscription 0 is reserved for the connection/, message(hello, (w) => subscribe(w, { id: 0, credit: 1 }))],
      [/type 0x7f is unknown/, message(hello, (w) => w.frame(0x7f, () => {}))],
      [/type 0x17 is unknown or not allowed here/, message(hello, (w) => w.frame(0x17, () => w.uvarint(1)))],
      [/truncated|beyond the end/, message(hello).subarray(0, 2)],
      [/truncated/, Uint8Array.of(0x01, 0xff)],
      [/expected binary messages, not text/, "hello"],
      // The limit is low, because the module's memory grows with the largest message
      // and never shrinks.
      [/a message of 1100000 bytes, the limit is 1048576/, new Uint8Array(1_100_000)],
    ];
    for (const [what, bad] of messages) {
      const reader = await rawReader(s.edge, everything);
      const last = lastWord(reader);
      const closed = once(reader, "close");
      reader.send(bad);
      const [code, message] = await last;
      assert.equal(code, 400, String(what));
      assert.match(message, what);
      const [how, reason] = await closed;
      assert.deepEqual([how, String(reason).slice(0, 18)], [1002, "400 ProtocolError:"]);
    }
    assert.ok((await s.edge.get("one/status")).body.memory.module < 8 << 20);
    await othersAreWell(s);
  });

  test("a grant that is too large for the socket's attachment is refused", options, async (t) => {
    const s = await setup(t);
    const namespaces = Array.from({ length: 1000 }, (_, i) => `namespace-number-${i}`);
    await assert.rejects(rawReader(s.edge, { ...everything, namespaces }), /431/);
    await assert.rejects(s.edge.feed(s.connector, { grant: { ...everything, feed: true, user: "x".repeat(16 << 10) } }), /431/);
    await othersAreWell(s);
  });

  test("a feed that sends too much is closed, and the next one continues", options, async (t) => {
    const s = await setup(t);
    const second = await s.edge.feed(s.connector);
    s.feed.socket.send(new Uint8Array(17 << 20));
    assert.match(await s.feed.closed, /^1002 400 ProtocolError: a message of 17825792 bytes, the limit is 16777216/);
    await s.edge.until("one/status", ({ feeds }) => feeds.connected[0]?.active);
    assert.equal(second.begun, 1);
    await othersAreWell(s);
  });

  // An out-of-range option must not reach the engine, which would remove the member that serves all
  // HTTP requests.
  test("an invalid request is refused, and the next one served", options, async (t) => {
    const s = await setup(t);
    for (const broken of [listCommand({ match: 3 }), listCommand({ match: 255 }), watchCommand({ match: 9 }), watchCommand({ sendInitialEvents: 3 }), watchCommand({ policy: 3 })]) {
      const { code, body } = await s.edge.get(`one${backendPath(commandFrame(broken))}`);
      assert.deepEqual([code, body.reason], [400, "BadRequest"]);
      assert.match(body.message, /^the parameter command is invalid: command frame: unknown option value at byte \d+$/);
    }
    const list = await fetch(s.edge.url(`one${backendPath(commandFrame(listCommand()))}`), { headers: { "x-watchglass-grant": JSON.stringify(everything) } });
    assert.equal(list.status, 200);
    assert.ok((await list.arrayBuffer()).byteLength > 1000);
  });
});
