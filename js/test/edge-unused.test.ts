// Tests of unused objects in workerd, such as those of shards that no longer exist. Such objects
// must delete their storage, which would otherwise remain forever.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { setTimeout } from "node:timers/promises";
import { describe, test } from "node:test";
import { backendPath, commandFrame, Edge, everything, getCommand, setup, type Setup } from "./edge-fixture.js";
import { packaged } from "./paths.js";

const skip = existsSync(packaged("dist", "watchglass.wasm")) ? false : 'dist/ is not built; run "npm run build" after "make wasm"';
const options = { skip };
const object = "unused";
const unusedMillis = 15_000;
/** The size of an empty SQLite database in bytes. */
const emptyBytes = 4_096;

async function isStored(s: Setup): Promise<void> {
  await s.edge.until(`${object}/status`, ({ resources }) => resources["v1/pods"].stored);
  assert.ok(s.edge.stored() > emptyBytes);
}

/**
 * Waits until the object's storage is deleted. It checks the disk, because a request
 * would wake the object. One check is not enough, because SQLite may move its log
 * into the database between the reads of the two files.
 */
async function deleted(edge: Edge): Promise<void> {
  for (let empty = 0; empty < 3; empty = edge.stored() > emptyBytes ? 0 : empty + 1) await setTimeout(100);
}

describe("an unused object", { concurrency: 5 }, () => {
  test("deletes its storage, and starts empty on the next request", options, async (t) => {
    const s = await setup(t, object);
    await isStored(s);
    s.wg.close();
    s.feed.socket.terminate();
    await deleted(s.edge);
    await setTimeout(unusedMillis);
    assert.equal(s.edge.stored(), emptyBytes, "it no longer wakes up");
    await s.edge.feed(s.connector, { object });
    const pods = (await s.edge.read({ object })).collection("v1/pods");
    await pods.synced;
    assert.equal(pods.progress.objects, 30);
    assert.deepEqual(s.connector.subscribes, [0, 0]);
  });

  test("deletes its storage after unnoticed disconnects", options, async (t) => {
    const s = await setup(t, object);
    await isStored(s);
    s.wg.close();
    await s.edge.restart();
    await deleted(s.edge);
  });

  test("without an upstream deletes its storage and refuses readers", options, async (t) => {
    const edge = await Edge.start(t);
    const { code, body } = await edge.get("former/watch");
    assert.deepEqual([code, body.message], [404, "the upstream object no longer exists"]);
    assert.ok(edge.stored() > emptyBytes);
    await deleted(edge);
  });

  test("does not return when the runtime repeats its last alarm", options, async (t) => {
    const edge = await Edge.start(t);
    await edge.get("hasty/status");
    assert.ok(edge.stored() > emptyBytes);
    await deleted(edge);
    await setTimeout(5_000); // the runtime repeats a failed alarm after 2 s
    assert.equal(edge.stored(), emptyBytes);
  });

  test("keeps its storage while it is in use", options, async (t) => {
    const s = await setup(t, object);
    await isStored(s);
    s.wg.close();
    await setTimeout(unusedMillis + 2_000); // the object is in use, because it has a feed
    const wg = await s.edge.read({ object });
    await wg.collection("v1/pods").synced;
    s.feed.socket.terminate();
    await setTimeout(unusedMillis + 2_000); // the object is in use, because it has a reader
    wg.close();
    for (let i = 0; i < 3; i++) {
      await setTimeout(unusedMillis / 2);
      const { status } = await fetch(s.edge.url(object + backendPath(commandFrame(getCommand("default/web-1")))), { headers: { "x-watchglass-grant": JSON.stringify(everything) } });
      assert.equal(status, 200);
    }
    await s.edge.feed(s.connector, { object });
    await s.edge.until(`${object}/status`, ({ feeds }) => feeds.connected[0]?.active);
    assert.ok(s.connector.subscribes.slice(1).every((rv) => rv >= 130), `it resumes: ${s.connector.subscribes}`);
  });
});
