// Tests of cases in which other dashboards fail: churn, many objects, restarts, crashes of
// tabs, stale replicas and hot reloads.

import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import type { CDPSession, Page } from "playwright-core";
import { TestCluster } from "../src/testing.js";
import { setup, show, shows, skip, skipUnlessChromium } from "./browser.js";
import { connected, pod, skip as noModule, until } from "./cluster.js";

/** Returns the memory of a thread in bytes, after a garbage collection. */
type Measure = () => Promise<number>;

interface HeapUsage {
  usedSize: number;
  backingStorageSize?: number;
}

const sumOf = ({ usedSize, backingStorageSize = 0 }: HeapUsage): number => usedSize + backingStorageSize;

async function memoryOfPage(page: Page): Promise<Measure> {
  const devtools = await page.context().newCDPSession(page);
  return async () => {
    await devtools.send("HeapProfiler.collectGarbage");
    return sumOf((await devtools.send("Runtime.getHeapUsage")) as HeapUsage);
  };
}

async function memoryOfWorker(devtools: CDPSession, address: string): Promise<Measure> {
  const { targetInfos } = await devtools.send("Target.getTargets");
  const { targetId } = targetInfos.find(({ type, url }) => type === "shared_worker" && url.includes(address))!;
  const { sessionId } = await devtools.send("Target.attachToTarget", { targetId, flatten: false });
  let id = 0;
  const call = (method: string): Promise<HeapUsage> =>
    new Promise((resolve) => {
      const request = ++id;
      const receive = ({ sessionId: from, message }: { sessionId: string; message: string }): void => {
        const response = JSON.parse(message) as { id?: number; result: HeapUsage };
        if (from !== sessionId || response.id !== request) return;
        devtools.off("Target.receivedMessageFromTarget", receive);
        resolve(response.result);
      };
      devtools.on("Target.receivedMessageFromTarget", receive);
      void devtools.send("Target.sendMessageToTarget", { sessionId, message: JSON.stringify({ id: request, method }) });
    });
  return async () => {
    await call("HeapProfiler.collectGarbage");
    return sumOf(await call("Runtime.getHeapUsage"));
  };
}

/** The minimum duration of the churn in seconds. The default, 0, results in one measured round. */
const churnSeconds = Number(process.env.CHURN_SECONDS ?? 0);
const objects = 500;
const changesPerRound = 10_000;
/**
 * The maximum number of bytes by which memory may grow in all rounds together. The tolerance is
 * about a tenth of the size of the bodies that one round sends.
 */
const tolerance = 2 << 20;

test("churn adds no memory to the page and the worker", { skip: skipUnlessChromium, timeout: 120_000 + 2_000 * churnSeconds }, async (t) => {
  const { connector, open, browser } = await setup(t);
  connector.padding = "x".repeat(2_000);
  for (let i = 0; i < objects; i++) connector.put(`default/pod-${i}`, "web", "Running");
  const page = await open();
  await show(page, "/watch");
  await page.evaluate(async () => {
    await pods.synced;
    view.subscribe(() => view.snapshot.rows.length);
  });
  const measures = { page: await memoryOfPage(page), worker: await memoryOfWorker(await browser.newBrowserCDPSession(), connector.address) };
  const round = async (): Promise<{ page: number; worker: number }> => {
    for (let i = 0; i < changesPerRound; i++) {
      connector.put(`default/pod-${(i * 7) % objects}`, i % 3 ? "web" : "api", `Phase-${i % 50}`);
      // Waits for the page, so that the network buffers do not grow.
      if (i % 500 === 499) await page.evaluate((version) => pods.waitFor(version), String(connector.rv));
    }
    return { page: await measures.page(), worker: await measures.worker() };
  };
  await round(); // fills the history window
  const before = await round();
  let after = before;
  const end = Date.now() + churnSeconds * 1000;
  do after = await round();
  while (Date.now() < end);
  t.diagnostic(JSON.stringify({ before, after }));
  for (const part of ["page", "worker"] as const) assert.ok(after[part] - before[part] < tolerance, `the memory of the ${part} grew from ${before[part]} to ${after[part]} bytes`);
});

// A page is blocked while it processes a message from the worker. The duration depends on the size
// of the message and on the machine, so the test checks the sizes and only reports the durations.
test("a page that opens 50,000 objects receives only the messages for its window", { skip, timeout: 120_000 }, async (t) => {
  const { connector, open, context } = await setup(t);
  for (let i = 0; i < 50_000; i++) connector.put(`default/pod-${i}`, "web", "Running");
  await context.addInitScript(() => {
    const received: number[] = [];
    const tasks: number[] = [];
    Object.assign(globalThis, { received, tasks });
    new PerformanceObserver((list) => tasks.push(...list.getEntries().map(({ duration }) => duration))).observe({ type: "longtask" });
    const { get, set } = Object.getOwnPropertyDescriptor(MessagePort.prototype, "onmessage") as { get(): unknown; set(listener: unknown): void };
    Object.defineProperty(MessagePort.prototype, "onmessage", {
      get,
      set(this: MessagePort, listener: (event: MessageEvent) => void) {
        set.call(this, (event: MessageEvent<{ frames?: Uint8Array }>) => {
          received.push(event.data.frames?.byteLength ?? 0);
          listener.call(this, event);
        });
      },
    });
  });
  const page = await open();
  await page.evaluate(async () => {
    globalThis.wg = await watchglass.connect("/watch");
    globalThis.pods = wg.collection("v1/pods", { metadataOnly: true });
    globalThis.view = pods.view({ sort: "-name", limit: 50 });
    await pods.synced;
  });
  await page.waitForFunction(() => view.snapshot.total === 50_002);
  const { received, tasks } = await page.evaluate(() => {
    const { received, tasks } = globalThis as unknown as { received: number[]; tasks: number[] };
    return { received, tasks };
  });
  t.diagnostic(`${received.length} messages; long tasks in ms: ${tasks.map(Math.round).join() || "none"}`);
  assert.ok(received.length > 1 && Math.max(...received) > 1_000, "the messages are counted");
  assert.ok(Math.max(...received) < 64 << 10, `a message has ${Math.max(...received)} bytes`);
  const sum = received.reduce((total, bytes) => total + bytes, 0);
  assert.ok(sum < 1 << 20, `the messages have ${sum} bytes`);
});

test("after a restart, all tabs return over one connection without a relist, and no program starts anything again", { skip }, async (t) => {
  const { connector, open } = await setup(t);
  const pages = await Promise.all(Array.from({ length: 4 }, open));
  for (const page of pages) await show(page, "/watch");
  const before = connector.attempts;
  connector.refusals = 2;
  connector.cut();
  await Promise.all(pages.map((page) => page.waitForFunction(() => pods.status.state === "reconnecting")));
  connector.put("default/web-3", "web", "Running");
  await Promise.all(pages.map((page) => shows(page, "web-1 Running, web-2 Pending, web-3 Running")));
  await Promise.all(pages.map((page) => page.waitForFunction(() => pods.status.state === "live")));
  assert.deepEqual([connector.attempts - before, connector.hellos.length, connector.subscribes], [3, 2, [0, 102]]);
});

async function crash(page: Page): Promise<void> {
  const crashed = page.waitForEvent("crash");
  const devtools = await page.context().newCDPSession(page);
  void devtools.send("Page.crash").catch(() => {}); // the page crashes without a response
  await crashed;
}

// The worker usually runs in the first tab's process, and then ends with that process.
for (const [crashes, stays] of [[0, 1], [1, 0]] as const) {
  for (const sharedWorkers of [true, false]) {
    const which = `tab ${crashes + 1} of 2, which crashes during the first sync, does not disturb the other one`;
    test(`${which} ${sharedWorkers ? "with" : "without"} SharedWorker`, { skip: skipUnlessChromium }, async (t: TestContext) => {
      const { connector, open, context } = await setup(t);
      if (!sharedWorkers) await context.addInitScript(() => delete (globalThis as { SharedWorker?: unknown }).SharedWorker);
      const pages = [await open(), await open()];
      connector.held = [];
      for (const page of pages) {
        await page.evaluate(async () => {
          globalThis.wg = await watchglass.connect("/watch", { token: "t0ken" });
          globalThis.pods = wg.collection("v1/pods");
          globalThis.view = pods.view({ sort: "name" });
        });
      }
      const other = pages[stays]!;
      while (connector.held.length === 0) await other.waitForTimeout(10);
      const { held } = connector;
      connector.held = undefined;
      await crash(pages[crashes]!);
      for (const answer of held) answer();
      await shows(other, "web-1 Running, web-2 Pending");
      await other.waitForFunction(() => pods.status.state === "live");
      while ((await other.evaluate(async () => (await wg.inspect())["views"])) !== 1) await other.waitForTimeout(20);
      assert.ok(connector.hellos.length <= 2 && connector.subscribes.length <= connector.hellos.length, "one connection of each worker");
    });
  }
}

test("a module that is evaluated again joins the engine, and leaves none behind", { skip }, async (t) => {
  const { connector, open } = await setup(t);
  const page = await open();
  // Evaluates a new version of the program's module, as a development server does. With `dispose`,
  // the dispose handler of the old version runs first and closes the old client.
  const evaluate = (version: number, dispose: boolean) =>
    page.evaluate(
      async ({ version, dispose }) => {
        if (dispose) wg.close();
        const api = (await import(`${location.origin}/index.js?t=${version}`)) as typeof watchglass;
        globalThis.wg = await api.createClient("/watch", { token: "t0ken" }).connect();
        globalThis.pods = wg.collection("v1/pods");
        globalThis.view = pods.view({ sort: "name" });
        await view.ready;
      },
      { version, dispose },
    );
  const count = () => page.evaluate(async () => (await wg.inspect())["views"]);
  await evaluate(1, false);
  await evaluate(2, false);
  assert.deepEqual([await count(), connector.hellos.length], [2, 1], "a program without a handler has two clients, and one engine");
  const { collections } = await page.evaluate(() => wg.inspect());
  for (let version = 3; version < 8; version++) await evaluate(version, true);
  assert.deepEqual([await count(), connector.hellos.length, (await page.evaluate(() => wg.inspect()))["collections"]], [2, 1, collections]);
});

test("a replica with an older resource version does not take the rows back in time", { skip: noModule, timeout: 60_000 }, async (t) => {
  const [newer, older] = [new TestCluster(), new TestCluster()];
  older.apply(pod("a"));
  for (const name of ["a", "b", "c"]) newer.apply(pod(name));
  let replica = newer;
  const wg = await connected(t, newer, { fetch: (input, init) => replica.fetch(input as string, init) });
  const pods = wg.collection("v1/pods");
  const view = pods.view({ sort: "name" });
  await pods.synced;
  await view.ready;
  const names = (): string => view.snapshot.rows.map(({ name }) => name).join();
  const seen = new Set<string>();
  view.subscribe(() => seen.add(names()));
  replica = older;
  newer.cut();
  await until(pods, () => pods.status.state !== "live");
  wg.reconnect();
  await until(pods, () => pods.status.error?.cause === "ResourceVersionTooLarge");
  assert.equal(names(), "a,b,c");
  newer.restore();
  replica = newer;
  newer.apply(pod("d"));
  wg.reconnect();
  await until(view, () => names() === "a,b,c,d");
  await until(pods, () => pods.status.state === "live");
  assert.deepEqual([...seen].filter((rows) => !rows.startsWith("a,b,c")), []);
});
