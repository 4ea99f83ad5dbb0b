// Tests of a collection that is saved and opened again, with the real module.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { test, type TestContext } from "node:test";
import { connect, type Collection, type Position, WatchglassError, type Watchglass } from "../src/index.js";
import { TestConnector } from "./connector.js";
import { clientAt, fakeEngine, GuestError, turn } from "./fake.js";
import { built } from "./paths.js";

const wasm = pathToFileURL(built("watchglass.wasm"));
const skip = existsSync(wasm) ? false : "build/watchglass.wasm is missing";

/** The saved state of a collection, in memory. */
class Storage {
  chunks: Uint8Array[] = [];
  at: Position | undefined;

  async save(collection: Collection, chunkBytes = 0): Promise<boolean> {
    const fresh: Uint8Array[] = [];
    let replaced = false;
    for await (const chunk of collection.snapshot({ since: this.at, chunkBytes })) {
      fresh.push(chunk.data);
      replaced = chunk.whole;
      assert.equal(chunk.position !== undefined, chunk.last);
      if (chunk.last) this.at = chunk.position;
    }
    this.chunks = replaced ? fresh : [...this.chunks, ...fresh];
    return replaced;
  }
}

async function open(t: TestContext, connector: TestConnector): Promise<Watchglass> {
  const wg = await connect(`ws://${connector.address}/watch`, { wasm, token: "t0ken" });
  t.after(() => wg.close());
  return wg;
}

async function filled(t: TestContext): Promise<{ connector: TestConnector; disk: Storage }> {
  const connector = await TestConnector.start();
  t.after(() => connector.close());
  for (let i = 0; i < 20; i++) connector.put(`default/web-${i}`, "web", "Running");
  const disk = new Storage();
  const wg = await open(t, connector);
  const pods = wg.collection("v1/pods");
  await assert.rejects(disk.save(pods), (e: unknown) => e instanceof WatchglassError && e.code === 503);
  await pods.synced;
  await pods.restored; // resolves immediately, because there is no state to restore
  assert.ok(await disk.save(pods, 1000));
  assert.ok(disk.chunks.length > 2);
  connector.put("default/web-3", "web", "Failed");
  while ((await pods.get("default/web-3")).metadata.resourceVersion !== "121") await turn();
  assert.equal(await disk.save(pods), false, "only changes");
  assert.equal(disk.at!.resourceVersion, "121");
  wg.close();
  return { connector, disk };
}

test("a stored state is available immediately, and resumes", { skip }, async (t) => {
  const { connector, disk } = await filled(t);
  connector.put("default/web-20", "web", "Running");
  const pods = (await open(t, connector)).collection("v1/pods", { restore: disk.chunks });
  const states: string[] = [];
  for (const subscribe of [pods.subscribe, pods.subscribeProgress]) subscribe(() => states.push(`${pods.status.state} ${pods.progress.objects}`));
  await pods.restored;
  const list = await pods.list({ resourceVersion: "0" });
  assert.ok(list.items.length >= 20);
  await pods.synced;
  assert.equal(pods.progress.objects, 21);
  assert.ok(!states.some((s) => s.startsWith("syncing")), "no list is sent");
});

test("a corrupt state is refused, and listed instead", { skip }, async (t) => {
  const { connector, disk } = await filled(t);
  const damaged = disk.chunks.map((c) => c.slice());
  damaged[1]![100]! ^= 1;
  for (const [chunks, why] of [
    [damaged, /cannot be restored: .*corrupt/],
    [disk.chunks.slice(0, 2), /the last chunk of a snapshot is missing/],
    [[new Uint8Array(16 << 20)], /more than the maximum/],
  ] as const) {
    const pods = (await open(t, connector)).collection("v1/pods", { restore: chunks });
    await assert.rejects(pods.restored, why);
    await pods.synced;
    assert.equal(pods.progress.objects, 20);
  }
});

test("a snapshot ends when its consumer stops or its engine fails", { skip }, async (t) => {
  const { connector } = await filled(t);
  const wg = await open(t, connector);
  const pods = wg.collection("v1/pods");
  await pods.synced;
  for await (const chunk of pods.snapshot({ chunkBytes: 1 })) {
    assert.equal(chunk.last, false);
    break;
  }
  assert.equal((await wg.inspect())["snapshots"], undefined);
  await assert.rejects(async () => {
    for await (const _ of pods.snapshot({ chunkBytes: 1 })) wg.close();
  }, /closed/);
  assert.throws(() => pods.snapshot(), /closed/);

  t.mock.method(console, "error", () => {});
  const { engine, guest } = await fakeEngine();
  const client = await clientAt(engine);
  const fake = client.collection("v1/pods", { restore: [new Uint8Array(3)] });
  const taken = assert.rejects(async () => {
    for await (const _ of fake.snapshot());
  }, /index out of range/);
  await turn();
  assert.deepEqual(guest().commands.map((h) => h.name), ["OpenCollection", "RestoreChunk", "RestoreChunk", "Inspect", "TakeSnapshot"]);
  guest().fault = new GuestError("index out of range", true);
  client.reconnect();
  await taken;
  await assert.rejects(fake.restored, /index out of range/);
  await assert.rejects(async () => {
    for await (const _ of fake.snapshot({ since: { resourceVersion: "one", clusterID: "" } }));
  }, /decimal number/);
  client.close();
});
