// Tests of Collection.list, which reads a list in pages.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { test } from "node:test";
import { connect } from "../src/index.js";
import type { Status } from "../src/types.js";
import { Reader } from "../src/wire/codec.js";
import { TestConnector } from "./connector.js";
import { fakePods, say, turn } from "./fake.js";
import { built } from "./paths.js";

const wasm = pathToFileURL(built("watchglass.wasm"));
const skip = existsSync(wasm) ? false : "build/watchglass.wasm is missing";
const web = { key: "default/web", rv: 1, cells: ["Running"] };
const expired: Status = { code: 410, reason: "Expired", message: "the history does not reach back to 7" };

async function setup() {
  const { guest, pods, respond } = await fakePods();
  /** Returns the options of the last request. */
  const last = () => {
    const r = new Reader(guest().last("List").payload, "List");
    const [, , , , , resourceVersion, match, limit, token] = [r.uint32(), r.uint32(), r.text(), r.text(), r.text(), r.text(), r.byte(), r.uint32(), r.text()];
    return { resourceVersion, match, limit, continue: token };
  };
  const page = (names: string[], rest = "") =>
    respond((w) => say.list(w, guest().last("List").id, names.map((name) => ({ ...web, key: `default/${name}` })), { continue: rest }));
  const refuse = (status: Status) => respond((w) => say.error(w, guest().last("List").id, status));
  return { guest, pods, last, page, refuse };
}

const names = (objects: { metadata: { name: string } }[]): string[] => objects.map((object) => object.metadata.name);

test("list follows continue tokens up to its limit", async () => {
  const { guest, pods, last, page } = await setup();
  const all = pods.list({ limit: 5 });
  await turn();
  await page(["a", "b"], "more");
  assert.deepEqual(last(), { resourceVersion: "", match: 0, limit: 3, continue: "more" }, "a truncated page is continued");
  await page(["c", "d", "e"], "rest");
  const { items, continue: rest } = await all;
  assert.deepEqual([names(items), rest], [["a", "b", "c", "d", "e"], "rest"]);
  assert.equal(guest().count("List"), 2);
});

// The engine's worker does nothing else during a request. One request for all objects could keep it
// busy for seconds.
test("a list without a limit is read in pages of 500 objects", async () => {
  const { pods, last, page } = await setup();
  const all = pods.list();
  await turn();
  assert.deepEqual(last(), { resourceVersion: "", match: 0, limit: 500, continue: "" });
  await page(["a", "b"], "more");
  assert.deepEqual(last(), { resourceVersion: "", match: 0, limit: 500, continue: "more" });
  await page(["c"]);
  const { items, continue: rest, remainingItemCount } = await all;
  assert.deepEqual([names(items), rest, remainingItemCount], [["a", "b", "c"], "", undefined]);
});

test("a list without a limit is read at once if its version expires between two pages", async () => {
  const { guest, pods, last, page, refuse } = await setup();
  const all = pods.list();
  await turn();
  await page(["a", "b"], "more");
  await refuse(expired);
  assert.deepEqual(last(), { resourceVersion: "", match: 0, limit: 0, continue: "" });
  await page(["a", "c"]);
  assert.deepEqual(names((await all).items), ["a", "c"]);
  assert.equal(guest().count("List"), 3);
});

test("a list with a limit reports that its version has expired", async () => {
  const { guest, pods, page, refuse } = await setup();
  const all = assert.rejects(pods.list({ limit: 5 }), { code: 410, message: expired.message });
  await turn();
  await page(["a", "b"], "more");
  await refuse(expired);
  await all;
  assert.equal(guest().count("List"), 2);
});

test("a list without a limit returns all objects of its version", { skip }, async (t) => {
  const connector = await TestConnector.start();
  connector.padding = "x".repeat(3_000); // the engine ends a page of a list at 1 MiB
  const name = (i: number): string => `web-${String(i).padStart(4, "0")}`;
  for (let i = 0; i < 1200; i++) connector.put(`default/${name(i)}`, i % 2 ? "web" : "api", "Running");
  const wg = await connect(`ws://${connector.address}/watch`, { wasm, token: "t0ken" });
  t.after(async () => {
    wg.close();
    await connector.close();
  });
  const pods = wg.collection("v1/pods");
  await pods.synced;
  const before = (await pods.list({ limit: 1 })).resourceVersion;
  connector.delete(`default/${name(1199)}`);
  await pods.waitFor(String(Number(before) + 1));
  const current = pods.progress.resourceVersion;
  assert.notEqual(current, before);

  const all = Array.from({ length: 1199 }, (_, i) => name(i));
  for (const options of [{}, { resourceVersion: "0" }, { resourceVersion: "0", resourceVersionMatch: "NotOlderThan" }, { resourceVersion: before }, { resourceVersion: before, resourceVersionMatch: "NotOlderThan" }] as const) {
    const { items, resourceVersion, continue: rest } = await pods.list(options);
    assert.deepEqual([names(items), resourceVersion, rest], [all, current, ""], JSON.stringify(options));
  }
  const exact = await pods.list({ resourceVersion: before, resourceVersionMatch: "Exact" });
  assert.deepEqual([names(exact.items), exact.resourceVersion], [[...all, name(1199)], before]);
  const first = await pods.list({ limit: 700 });
  assert.deepEqual(names((await pods.list({ continue: first.continue })).items), all.slice(700));
  assert.deepEqual(names((await pods.list({ labelSelector: "app=web" })).items), all.filter((_, i) => i % 2));
  await assert.rejects(pods.list({ resourceVersionMatch: "NotOlderThan" }), { code: 422 });
  await assert.rejects(pods.list({ resourceVersion: "0", resourceVersionMatch: "Exact" }), { code: 422 });
  await assert.rejects(pods.list({ resourceVersion: "3", continue: first.continue }), { code: 400 });
});
