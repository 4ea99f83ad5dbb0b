// Loops over a watch that do not keep up, in Node with the real module.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { test, type TestContext } from "node:test";
import { connect, WatchglassError, type Collection, type WatchEvent, type WatchOptions } from "../src/index.js";
import { TestConnector } from "./connector.js";
import { built } from "./paths.js";

const wasm = pathToFileURL(built("watchglass.wasm"));
const skip = existsSync(wasm) ? false : "build/watchglass.wasm is missing";

async function setup(t: TestContext) {
  const connector = await TestConnector.start();
  connector.put("default/web-1", "web", "Running");
  const wg = await connect(`ws://${connector.address}/watch`, { wasm, token: "t0ken" });
  t.after(async () => {
    wg.close();
    await connector.close();
  });
  const pods = wg.collection("v1/pods");
  await pods.synced;
  return { connector, wg, pods };
}

/** Resolves when the collection is at a version. */
function reached(pods: Collection, rv: number): Promise<void> {
  return new Promise((resolve) => {
    const look = () => {
      if (Number(pods.status.resourceVersion) < rv) return;
      stop();
      resolve();
    };
    const stop = pods.subscribe(look);
    look();
  });
}

/** Opens a watch with room for two events, lets some changes pass by before the first is taken, and returns what the loop over it gets. */
async function late(t: TestContext, changes: number, options: WatchOptions) {
  const { connector, wg, pods } = await setup(t);
  const watch = pods.watch({ resourceVersion: pods.status.resourceVersion, credit: 2, ...options })[Symbol.asyncIterator]();
  await wg.inspect(); // the engine has the watch
  const first = connector.rv + 1;
  for (let i = 0; i < changes; i++) connector.put("default/web-1", "web", `Phase ${i}`);
  await reached(pods, connector.rv);
  const versions: number[] = [];
  let error: unknown;
  try {
    for await (const event of { [Symbol.asyncIterator]: () => watch }) versions.push(versionOf(event));
  } catch (thrown) {
    error = thrown;
  }
  return { connector, wg, pods, first, versions, error };
}

function versionOf(event: WatchEvent): number {
  if (event.type !== "MODIFIED") assert.fail(`unexpected event: ${JSON.stringify(event)}`);
  return Number(event.object.metadata.resourceVersion);
}

test("a slow loop over a watch that may be terminated ends with a 410", { skip }, async (t) => {
  const { first, versions, error } = await late(t, 50, { policy: "terminate" });
  assert.ok(versions.length < 50);
  assert.deepEqual(versions, versions.map((_, i) => first + i), "what comes before the end has no gap");
  assert.ok(error instanceof WatchglassError, `expected a WatchglassError, the loop ended with ${error}`);
  assert.deepEqual([error.code, error.reason], [410, "Expired"]);
});
