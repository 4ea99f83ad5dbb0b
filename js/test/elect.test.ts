// Tests of pages in browsers without shared workers, such as Chrome on Android. Such pages share a
// dedicated worker, which an elected page runs.

import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import type { Page, Worker } from "playwright-core";
import { block, setup, shows, skip, skipUnlessChromium, type Setup } from "./browser.js";

async function setupElected(t: TestContext): Promise<Setup> {
  const all = await setup(t);
  await all.context.addInitScript(() => delete (globalThis as { SharedWorker?: unknown }).SharedWorker);
  return all;
}

/** Opens pods and a view of them. */
async function show(page: Page, options: { token: string; identity?: string; persist?: boolean } = { token: "t0ken" }): Promise<void> {
  await page.evaluate(async (options) => {
    globalThis.wg = await watchglass.connect("/watch", options);
    globalThis.pods = wg.collection("v1/pods");
    globalThis.view = pods.view({ sort: "name" });
    await view.ready;
    await pods.synced;
  }, options);
}

/** Returns the indexes of the pages that run a worker. */
const leaders = (...pages: readonly Page[]): number[] => [...pages.keys()].filter((i) => pages[i]!.workers().length > 0);

const statistic = (page: Page, name: string) => page.evaluate(async (name) => (await wg.inspect())[name], name);

/**
 * Waits until the connector has seen a number of connections. Until then, the old worker may still
 * serve changes, because its page has not closed yet.
 */
async function connected({ connector }: Setup, connections: number): Promise<void> {
  while (connector.hellos.length < connections) await new Promise((resolve) => setTimeout(resolve, 10));
}

async function live(page: Page, rows: string): Promise<void> {
  await shows(page, rows);
  await page.waitForFunction(() => pods.status.state === "live");
}

test("pages without shared workers use one connection, and stay current when the page with the worker is closed", { skip }, async (t) => {
  const all = await setupElected(t);
  const { connector, open } = all;
  const pages = await Promise.all(Array.from({ length: 4 }, open));
  await Promise.all(pages.map((page) => show(page)));
  connector.put("default/web-2", "web", "Running");
  for (const page of pages) await shows(page, "web-1 Running, web-2 Running");
  assert.deepEqual([connector.hellos, connector.subscribes], [["t0ken"], [0]]);
  assert.equal(await statistic(pages[3]!, "views"), 4);
  for (const connections of [2, 3]) {
    const [leader, ...others] = leaders(...pages);
    assert.deepEqual(others, []);
    const [closed] = pages.splice(leader!, 1);
    await closed!.close();
    for (const page of pages) assert.ok(await page.evaluate(() => view.snapshot.rows.length > 0 && pods.status.state !== "closed"));
    await connected(all, connections);
    const name = `default/web-${connections + 1}`;
    connector.put(name, "web", "Running");
    await Promise.all(pages.map((page) => page.waitForFunction((name) => view.snapshot.rows.some((row) => row.key === name) && pods.status.state === "live", name)));
    assert.equal(connector.hellos.length, connections);
    assert.equal(leaders(...pages).length, 1);
  }
});

test("a stored state lets the next worker resume without a relist", { skip }, async (t) => {
  const all = await setupElected(t);
  const { connector, open } = all;
  const pages = [await open(), await open()];
  for (const page of pages) await show(page, { token: "t0ken", persist: true });
  while (!(await statistic(pages[0]!, "persistence.stored"))) await pages[0]!.waitForTimeout(20);
  const [leader, other] = leaders(...pages)[0] === 0 ? pages : pages.reverse();
  connector.put("default/web-3", "web", "Running"); // newer than the stored state
  await shows(other!, "web-1 Running, web-2 Pending, web-3 Running");
  const { subscribes } = connector;
  await leader!.close();
  await connected(all, 2);
  connector.put("default/web-4", "web", "Running");
  await live(other!, "web-1 Running, web-2 Pending, web-3 Running, web-4 Running");
  assert.equal(subscribes.length, 2);
  assert.ok(subscribes[1]! >= 102, `resumed from ${subscribes[1]}`);
});

test("pages of different users share the elected worker, but no engine", { skip }, async (t) => {
  const { connector, open } = await setupElected(t);
  const pages = await Promise.all(Array.from({ length: 4 }, open));
  await show(pages[0]!);
  await show(pages[1]!, { token: "another" });
  await show(pages[2]!, { token: "anything", identity: "somebody" });
  await show(pages[3]!);
  assert.deepEqual(connector.hellos, ["t0ken", "another", "anything"]);
  assert.equal(leaders(...pages).length, 1);
  assert.deepEqual(await Promise.all(pages.map((page) => statistic(page, "views"))), [2, 1, 1, 2]);
});

test("a page that closes its connection runs the worker for others until they leave", { skip }, async (t) => {
  const { connector, open } = await setupElected(t);
  const [first, second] = [await open(), await open()];
  await show(first);
  await show(second);
  assert.deepEqual(leaders(first, second), [0]);
  await first.evaluate(() => wg.close());
  connector.put("default/web-2", "web", "Running");
  await shows(second, "web-1 Running, web-2 Running");
  while ((await statistic(second, "views")) !== 1) await second.waitForTimeout(20);
  assert.deepEqual([connector.hellos.length, leaders(first, second)], [1, [0]]);
  await show(first);
  assert.equal(await statistic(second, "views"), 2);
  assert.equal(connector.hellos.length, 1);
  for (const page of [first, second]) await page.evaluate(() => wg.close());
  while (leaders(first, second).length > 0) await first.waitForTimeout(20);
  await show(second);
  assert.deepEqual(leaders(first, second), [1]);
});

// Headless pages are always visible and never frozen, so tests dispatch the events themselves.
const lifecycle = (page: Page, event: "freeze" | "resume") => page.evaluate((event) => void document.dispatchEvent(new Event(event)), event);

test("a page that the browser freezes leaves the worker to another page", { skip }, async (t) => {
  const all = await setupElected(t);
  const { connector, open } = all;
  const [first, second] = [await open(), await open()];
  await show(first);
  await lifecycle(first, "freeze");
  await lifecycle(first, "resume");
  await show(second);
  assert.deepEqual([leaders(first, second), connector.hellos.length], [[0], 1], "a single page keeps its worker");
  await lifecycle(first, "freeze");
  await connected(all, 2);
  connector.put("default/web-2", "web", "Running");
  await live(second, "web-1 Running, web-2 Running");
  assert.deepEqual(leaders(first, second), [1]);
  await lifecycle(first, "resume");
  await live(first, "web-1 Running, web-2 Running");
  assert.deepEqual([leaders(first, second), connector.hellos.length], [[1], 2]);
});

test("a frozen page is not elected", { skip }, async (t) => {
  const all = await setupElected(t);
  const { connector, open } = all;
  const [first, frozen, third] = [await open(), await open(), await open()];
  for (const page of [first, frozen, third]) await show(page);
  await lifecycle(frozen, "freeze");
  await first.close();
  await connected(all, 2);
  connector.put("default/web-2", "web", "Running");
  await live(third, "web-1 Running, web-2 Running");
  assert.deepEqual(leaders(frozen, third), [1]);
});

/** Blocks the thread of a page or a worker. The call returns before the thread blocks. */
const hang = (target: Page | Worker) => (target as Page).evaluate((block) => void setTimeout(block), block);

// Like a blocked page, a page that the browser has frozen does not respond, but keeps its lock.
test("a worker that does not respond is replaced", { skip: skipUnlessChromium, concurrency: 2 }, async (t) => {
  const replaced = (page: "page" | undefined) => async (t: TestContext) => {
    const { connector, open } = await setupElected(t);
    const pages = await Promise.all(Array.from({ length: 3 }, open));
    for (const page of pages) await show(page);
    const [first] = pages;
    await hang(first!.workers()[0]!);
    if (page) await hang(first!);
    const others = page ? pages.slice(1) : pages;
    await Promise.all(others.map((page) => page.waitForFunction(() => pods.status.state === "stale")));
    connector.put("default/web-2", "web", "Running");
    await Promise.all(others.map((page) => live(page, "web-1 Running, web-2 Running")));
    assert.equal(connector.hellos.length, 2);
    if (page) return assert.equal(leaders(...others).length, 1);
    while (leaders(...pages).length > 1) await first!.waitForTimeout(20); // the browser may end the old worker later
  };
  await Promise.all([t.test("by its page", replaced(undefined)), t.test("by another page, if its page does not respond either", replaced("page"))]);
});
