// Tests of loops that do not keep up with their watch, in Node with the real module.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { test, type TestContext } from "node:test";
import { connect, WatchglassError, type Collection, type ConnectOptions, type Watch, type WatchOptions } from "../src/index.js";
import { TestConnector } from "./connector.js";
import { built } from "./paths.js";

const wasm = pathToFileURL(built("watchglass.wasm"));
const skip = existsSync(wasm) ? false : "build/watchglass.wasm is missing";

async function setup(t: TestContext, options: ConnectOptions) {
  const connector = await TestConnector.start();
  connector.put("default/web-1", "web", "Running");
  const wg = await connect(`ws://${connector.address}/watch`, { wasm, token: "t0ken", ...options });
  t.after(async () => {
    wg.close();
    await connector.close();
  });
  const pods = wg.collection("v1/pods");
  await pods.synced;
  const counted = async (name: string) => (await wg.inspect())[`collection.1.${name}`];
  return { connector, wg, pods, counted };
}

/** Resolves when the collection has reached a version. */
function reached(pods: Collection, rv: number): Promise<void> {
  return new Promise((resolve) => {
    const stop = pods.subscribeProgress(look);
    function look(): void {
      if (Number(pods.progress.resourceVersion) < rv) return;
      stop();
      resolve();
    }
    look();
  });
}

/** Opens a watch with a credit of two events, and makes changes before the first event is read. */
async function lateLoop(t: TestContext, changes: number, { maxHistory = 0, ...options }: WatchOptions & ConnectOptions = {}) {
  const world = await setup(t, { maxHistory });
  const { connector, pods } = world;
  const watch = pods.watch({ resourceVersion: pods.progress.resourceVersion, credit: 2, ...options });
  const events = watch[Symbol.asyncIterator]();
  const first = connector.rv + 1;
  await world.counted("objects"); // the engine has opened the watch
  for (let i = 0; i < changes; i++) connector.put("default/web-1", "web", `Phase ${i}`);
  await reached(pods, connector.rv);
  return { ...world, first, watch, loop: { [Symbol.asyncIterator]: () => events } };
}

/**
 * Reads up to `most` events into `versions`, and then returns "enough". Returns "done" if the loop
 * ends earlier without an error, and otherwise the error.
 */
async function take(loop: AsyncIterable<unknown>, versions: number[], most = Infinity): Promise<unknown> {
  try {
    for await (const event of loop as Watch) {
      if (event.type !== "MODIFIED") assert.fail(`unexpected event: ${JSON.stringify(event)}`);
      versions.push(Number(event.object.metadata.resourceVersion));
      if (versions.length === most) return "enough";
    }
    return "done";
  } catch (error) {
    return error;
  }
}

/** Checks that the versions begin at `first` and have no gap. */
const inOrder = (first: number, versions: number[]) => assert.deepEqual(versions, versions.map((_, i) => first + i));

function expired(error: unknown, cause: string, message: RegExp): void {
  assert.ok(error instanceof WatchglassError, `expected a WatchglassError, the loop ended with ${error}`);
  assert.deepEqual([error.code, error.reason, error.status.cause], [410, "Expired", cause]);
  assert.match(error.message, message);
}

test("a slow loop gets every event, and its watch stays live", { skip }, async (t) => {
  const { connector, first, watch, loop, counted } = await lateLoop(t, 500);
  assert.equal(await counted("stalledWatches"), 1);
  const versions: number[] = [];
  const all = take(loop, versions, 501);
  connector.put("default/web-1", "web", "Succeeded");
  assert.equal(await all, "enough");
  inOrder(first, versions);
  assert.equal(watch.end, "Closed", "by leaving the loop");
  assert.ok((await counted("stalls"))! > 0);
  assert.equal(await counted("terminatedWatches"), 0);
  assert.equal(await counted("overtakenWatches"), 0);
});

test("a slow loop whose next event was evicted ends with a 410", { skip }, async (t) => {
  const { first, watch, loop, counted } = await lateLoop(t, 500, { maxHistory: 20 });
  const versions: number[] = [];
  const error = await take(loop, versions);
  inOrder(first, versions);
  assert.ok(versions.length >= 2 && versions.length < 10, `${versions.length} events`);
  expired(error, "Overtaken", new RegExp(`the watch, which is at resourceVersion ${versions.at(-1)}: .*20 events remain; list again`));
  assert.equal(watch.end, "Overtaken");
  assert.equal(await counted("overtakenWatches"), 1);
});

test("a slow loop with the policy terminate ends with a 410", { skip }, async (t) => {
  const { first, watch, loop, counted } = await lateLoop(t, 50, { policy: "terminate" });
  const versions: number[] = [];
  const error = await take(loop, versions);
  inOrder(first, versions);
  assert.ok(versions.length < 50);
  expired(error, "SlowConsumer", /too slow: \d+ events wait for it, and the limit is \d+; watch again from the last resourceVersion received/);
  assert.equal(watch.end, "SlowConsumer");
  assert.equal(await counted("terminatedWatches"), 1);
});

test("a slow loop with the policy conflate skips to the latest state", { skip }, async (t) => {
  const { connector, watch, loop, counted } = await lateLoop(t, 500, { policy: "conflate" });
  const versions: number[] = [];
  for await (const event of loop as Watch) {
    if (event.type === "MODIFIED") versions.push(Number(event.object.metadata.resourceVersion));
    if (versions.at(-1) === connector.rv) break;
  }
  assert.ok(versions.length < 50, `${versions.length} events for 500 changes`);
  assert.equal(watch.end, "Closed");
  assert.ok((await counted("conflations"))! > 0);
});

test("a timeout ends the loop normally", { skip }, async (t) => {
  const { watch, loop } = await lateLoop(t, 1, { timeoutSeconds: 1 });
  assert.equal(watch.end, undefined);
  assert.equal(await take(loop, []), "done");
  assert.equal(watch.end, "Timeout");
});

test("a version that is too old is thrown", { skip }, async (t) => {
  const { pods } = await setup(t, {});
  const watch = pods.watch({ resourceVersion: "1" });
  const error = await take(watch, []);
  assert.ok(error instanceof WatchglassError);
  assert.deepEqual([error.code, watch.end], [410, "Refused"]);
});

test("closing the collection ends the loop", { skip }, async (t) => {
  const { pods, watch, loop } = await lateLoop(t, 0);
  pods.close();
  const error = await take(loop, []);
  assert.ok(error instanceof WatchglassError);
  assert.deepEqual([error.code, watch.end], [503, "CollectionClosed"]);
});
