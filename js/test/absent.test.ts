// Tests of resources that are installed later or removed, and of rights that are granted
// later, with the module in Node and in Chromium.

import assert from "node:assert/strict";
import { test } from "node:test";
import { makeInformer } from "../src/informer.js";
import { TestCluster } from "../src/testing.js";
import type { KubeObject, Row } from "../src/types.js";
import { setup, show, shows, skip as noBrowser } from "./browser.js";
import { connected, pod, skip as noModule, stopClock, until } from "./cluster.js";

const options = { skip: noModule, timeout: 60_000 };
const resource = "example.com/v1/gadgets";
const gadget = (name: string) => ({ apiVersion: "example.com/v1", kind: "Gadget", metadata: { name, namespace: "default" } });
const names = (rows: readonly Row[]): string => rows.map(({ name }) => name).join();

test("a collection of a resource that is installed later comes alive, with its views", options, async (t) => {
  const cluster = new TestCluster();
  const wg = await connected(t, cluster);
  const gadgets = wg.collection(resource);
  const view = gadgets.view();
  const refused = [view.ready, gadgets.get("default/a"), gadgets.list(), gadgets.watch()[Symbol.asyncIterator]().next()];
  for (const each of refused) await assert.rejects(each, { code: 404, reason: "NotFound" });
  await until(gadgets, () => gadgets.status.error !== undefined);
  assert.deepEqual([gadgets.status.state, gadgets.status.error!.code, view.state, view.error!.code], ["connecting", 404, "error", 404]);
  assert.ok(gadgets.status.nextAttempt! > Date.now());
  await assert.rejects(gadgets.list(), { code: 404 });
  cluster.apply(gadget("a"));
  wg.reconnect();
  await gadgets.synced;
  await until(view, () => names(view.snapshot.rows) === "a");
  assert.deepEqual([gadgets.status, view.state, view.error], [{ state: "live" }, "ready", undefined]);
  assert.deepEqual([gadgets.schema!.kind, (await gadgets.list()).items.length], ["Gadget", 1]);
  cluster.apply(gadget("b"));
  await until(view, () => names(view.snapshot.rows) === "a,b");
});

test("a collection of a resource that is installed later comes alive at its next attempt", options, async (t) => {
  const advance = stopClock(t);
  const cluster = new TestCluster();
  const wg = await connected(t, cluster);
  const gadgets = wg.collection(resource);
  const view = gadgets.view();
  await assert.rejects(view.ready, { code: 404 });
  const wait = gadgets.status.nextAttempt! - Date.now();
  assert.ok(wait > 0, `the next attempt is in ${wait} ms`);
  cluster.apply(gadget("a"));
  await advance(wait - 1);
  assert.deepEqual([gadgets.status.state, cluster.watches], ["connecting", []]);
  await advance(1);
  await gadgets.synced;
  await view.ready;
  assert.deepEqual([gadgets.status, view.state, names(view.snapshot.rows)], [{ state: "live" }, "ready", "a"]);
});

test("the views and watches of a resource that is removed continue once it is installed again", options, async (t) => {
  const cluster = new TestCluster();
  cluster.apply(gadget("a"));
  const wg = await connected(t, cluster);
  const gadgets = wg.collection(resource);
  const view = gadgets.view();
  await until(view, () => names(view.snapshot.rows) === "a");
  await gadgets.synced;
  const watch = gadgets.watch({ resourceVersion: gadgets.progress.resourceVersion });
  const events = watch[Symbol.asyncIterator]();
  const informer = makeInformer(wg, "/apis/example.com/v1/namespaces/default/gadgets");
  await informer.start();
  cluster.uninstall(resource);
  assert.equal((await events.next()).value!.type, "DELETED");
  await until(gadgets, () => gadgets.status.error?.code === 404);
  assert.deepEqual([gadgets.status.state, gadgets.progress.objects], ["reconnecting", 0]);
  await until(view, () => names(view.snapshot.rows) === "");
  const added = new Promise<KubeObject>((resolve) => informer.on("add", resolve));
  cluster.apply(gadget("b"));
  wg.reconnect();
  await until(view, () => names(view.snapshot.rows) === "b");
  assert.deepEqual([view.state, view.error], ["ready", undefined]);
  assert.equal((await added).metadata.name, "b");
  assert.equal((await events.next()).value!.object.metadata.name, "b");
  await until(gadgets, () => gadgets.status.state === "live");
  await informer.stop();
});

test("after a granted right and reconnect, requests succeed without waiting for the state", options, async (t) => {
  const cluster = new TestCluster();
  cluster.apply(pod("a"));
  cluster.deny("v1/pods");
  const wg = await connected(t, cluster);
  const pods = wg.collection("v1/pods");
  await until(pods, () => pods.status.state === "forbidden");
  wg.reconnect();
  await assert.rejects(pods.list(), { code: 403 }); // waits for the refusal after the reconnect
  cluster.allow("v1/pods");
  wg.reconnect();
  const view = pods.view();
  const first = pods.watch({ sendInitialEvents: true })[Symbol.asyncIterator]().next();
  const [list, object] = await Promise.all([pods.list(), pods.get("default/a")]);
  assert.deepEqual([list.items.length, object.metadata.name], [1, "a"]);
  await view.ready;
  assert.equal(names(view.snapshot.rows), "a");
  assert.equal((await first).value.type, "ADDED");
});

test("in two tabs, a collection comes alive with its resource, and again after its removal", { skip: noBrowser }, async (t) => {
  const { connector, open } = await setup(t);
  connector.absent = true;
  const pages = [await open(), await open()];
  for (const page of pages) {
    await assert.rejects(show(page, "/watch"), /there are no pods yet/);
    await page.waitForFunction(() => pods.status.error?.code === 404);
    assert.deepEqual(await page.evaluate(() => [pods.status.state, view.state, pods.status.nextAttempt! > Date.now()]), ["connecting", "error", true]);
  }
  connector.absent = false;
  await pages[0]!.evaluate(() => wg.reconnect());
  for (const page of pages) {
    await shows(page, "web-1 Running, web-2 Pending");
    await page.evaluate(() => pods.synced);
  }
  assert.equal(connector.hellos.length, 1, "both use one connection");
  connector.uninstall();
  for (const page of pages) await page.waitForFunction(() => pods.status.state === "reconnecting" && pods.status.error?.code === 404);
  connector.absent = false;
  connector.put("default/web-3", "web", "Running");
  await pages[1]!.evaluate(() => wg.reconnect());
  for (const page of pages) await shows(page, "web-1 Running, web-2 Pending, web-3 Running");
});
