// Tests of the metrics of an object. host/edge compares the names, labels and buckets with
// those of a connector.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { test } from "node:test";
import { Histogram } from "../src/edge/metrics.js";
import { idsPerMember } from "../src/member.js";
import { split, Writer } from "../src/wire/codec.js";
import { everything, setup, until } from "./edge-fixture.js";
import { readersOf } from "./edge-readers.js";
import { packaged } from "./paths.js";

const skip = existsSync(packaged("dist", "watchglass.wasm")) ? false : 'dist/ is not built; run "npm run build" after "make wasm"';

test("a histogram counts a duration in the first bucket whose bound it does not exceed", (t) => {
  t.mock.timers.enable({ apis: ["Date"], now: 100_000 });
  const h = new Histogram([0.5, 2]);
  for (const start of [100_001, 100_000, 99_500, 99_499, 98_000, 90_000]) h.since(start);
  assert.deepEqual([h.counts, h.sum], [[3, 2, 1], 0.5 + 0.501 + 2 + 10]);
});

const outputs = { SendReader: 0x72, ReaderStalled: 0x76 };

// The wait of a reader begins when the object receives the oldest change that the reader has not
// received.
test("the delivery of a change to a stalled reader includes the wait", (t) => {
  t.mock.timers.enable({ apis: ["Date"], now: 1_000_000 });
  const { readers, events, metrics } = readersOf(everything);
  const id = idsPerMember + 1; // serial 1 of member 1
  const output = (type: number, write: (w: Writer) => void): void => {
    const w = new Writer();
    w.frame(type, () => {
      w.uvarint(id);
      write(w);
    });
    for (const frame of split(w.take())) events.frame!(frame);
  };
  const sent = (): void => output(outputs.SendReader, (w) => w.bytes(new Uint8Array()));
  const stalled = (now: boolean): void => output(outputs.ReaderStalled, (w) => w.bool(now));
  readers.deliver(sent);
  assert.deepEqual([metrics.delivery.counts[0], metrics.delivery.sum], [1, 0], "no reader waits");
  sent();
  assert.equal(metrics.messages, 2);
  assert.equal(metrics.delivery.counts[0], 1, "progress and snapshots are no deliveries");
  stalled(true);
  readers.deliver(() => {});
  t.mock.timers.tick(2_000);
  readers.deliver(() => {});
  t.mock.timers.tick(1_000);
  stalled(false);
  sent();
  assert.equal(metrics.delivery.sum, 3, "since the oldest change");
  sent();
  assert.equal(metrics.delivery.sum, 3, "once");
});

test("an object that was out of memory knows the subscriptions of its readers", { skip }, async (t) => {
  const { edge, wg, pods, connector } = await setup(t);
  const other = wg.collection("v1/pods", { namespace: "default", labelSelector: "app=web" });
  await other.synced;
  const subscribed = async (): Promise<unknown> => (await edge.get("one/status")).body.subscriptions;
  assert.deepEqual(await subscribed(), { "v1/pods": { readers: 1, subscriptions: 2 } });
  const before = (await edge.get("one/status")).body.metrics;
  assert.ok(before.messages > 0 && before.bytes > 0 && before.resources["v1/pods"].bytes > 0);
  await edge.evict();
  assert.deepEqual(await subscribed(), { "v1/pods": { readers: 1, subscriptions: 2 } });
  const { metrics } = (await edge.get("one/status")).body;
  assert.equal(metrics.connections, 0, "it counts from the time at which it enters memory");
  assert.deepEqual(metrics.resources["v1/pods"].initialSync.sum, 0, "the stored state needs no list");
  other.close();
  connector.put("default/web-1", "web", "Failed");
  await until(pods, ({ resourceVersion }) => resourceVersion === String(connector.rv));
  await edge.until("one/status", ({ subscriptions }) => subscriptions["v1/pods"].subscriptions === 1);
});
