// Tests of cases in which other dashboards fail: churn, many objects, restarts, crashes of
// tabs, stale replicas, expired tokens and hot reloads. Related tests are in other files:
//
// - A connection that silently carries nothing more: browser.test.ts, "a connection that carries
//   nothing more is reported as stale while the rows stay, and replaced".
// - A 410: react.test.ts, "useWatch returns all objects once they are loaded, and relists after a
//   410"; module.test.ts; testing.test.ts.
// - Connection limits: browser.test.ts, "seven pages share one connection, and a page that closes
//   releases its objects".
// - Watches of background tabs: hidden.test.ts.
// - Leaked views, watches and objects: leaks.test.ts.
// - Events missed between a stop and a start: informer.test.ts, "stop ends reports, and another start
//   reports the changes since".

import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import type { CDPSession, Page } from "playwright-core";
import { TestCluster } from "../src/testing.js";
import type { View } from "../src/types.js";
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
  assert.deepEqual(connector.subscribes, [0], "no change opens the subscription again");
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

test("a view that changes its selector disturbs no other subscription, and no event is missed", { skip }, async (t) => {
  const { connector, open } = await setup(t);
  const page = await open();
  await show(page, "/watch");
  await page.evaluate(async () => {
    const seen: string[] = [];
    const changing = pods.view({ labelSelector: "app=web" });
    const part = wg.collection("v1/pods", { namespace: "default" });
    const partial = part.view({ labelSelector: "app=api", sort: "name" });
    await Promise.all([pods.synced, part.synced, changing.ready, partial.ready]);
    Object.assign(globalThis, { seen, changing, partial });
    void (async () => {
      for await (const event of pods.watch({ resourceVersion: pods.progress.resourceVersion })) if (event.type !== "BOOKMARK") seen.push(`${event.type} ${event.object.metadata.resourceVersion}`);
    })();
  });
  const [first, expected] = [connector.rv + 1, [] as string[]];
  for (let i = 0; i < 200; i++) {
    connector.put(`default/pod-${i % 20}`, i % 2 ? "web" : "api", `Phase-${i}`);
    expected.push(`${i < 20 ? "ADDED" : "MODIFIED"} ${first + i}`);
    if (i % 10 === 0) await page.evaluate((app) => (globalThis as unknown as { changing: View }).changing.query({ labelSelector: `app=${app}` }), i % 20 ? "web" : "api");
  }
  await page.waitForFunction((count) => (globalThis as unknown as { seen: string[] }).seen.length === count, expected.length);
  const last = Array.from({ length: 20 }, (_, i) => `pod-${i} Phase-${180 + i}`);
  await shows(page, [...last, "web-1 Running", "web-2 Pending"].join(", "));
  await page.waitForFunction((rows) => {
    const { snapshot } = (globalThis as unknown as { partial: View }).partial;
    return snapshot.rows.map(({ name, columns }) => `${name} ${columns[0]}`).join() === rows;
  }, last.filter((_, i) => i % 2 === 0).join());
  const { seen, changing } = await page.evaluate(() => {
    const { seen, changing } = globalThis as unknown as { seen: string[]; changing: View };
    return { seen, changing: changing.snapshot.rows.map(({ labels }) => labels.app) };
  });
  assert.deepEqual(seen, expected);
  assert.deepEqual([...new Set(changing)], ["web"]);
  assert.deepEqual([connector.hellos.length, connector.subscribes], [1, [0, 0]]);
});

test("an expired token is replaced by a fresh one, and the rows stay meanwhile", { skip }, async (t) => {
  const { connector, open } = await setup(t);
  const page = await open();
  await page.evaluate(async () => {
    Object.assign(globalThis, { session: "t1" });
    const token = (): string => (globalThis as unknown as { session: string }).session;
    globalThis.wg = await watchglass.connect("/watch", { token, identity: "ann" });
    globalThis.pods = wg.collection("v1/pods");
    globalThis.view = pods.view({ sort: "name" });
    await view.ready;
  });
  connector.accepts = (token) => token === "t2";
  connector.cut();
  connector.put("default/web-3", "web", "Running");
  await page.waitForFunction(() => pods.status.state === "forbidden");
  const refused = await page.evaluate(() => ({ error: pods.status.error?.message, rows: view.snapshot.rows.map(({ name }) => name).join(), all: wg.status.state, next: pods.status.nextAttempt! > 0 }));
  assert.deepEqual(refused, { error: "the token has expired", rows: "web-1,web-2", all: "unauthorized", next: true });
  await page.evaluate(() => {
    Object.assign(globalThis, { session: "t2" });
    wg.reconnect();
  });
  await shows(page, "web-1 Running, web-2 Pending, web-3 Running");
  await page.waitForFunction(() => pods.status.state === "live");
  assert.deepEqual([connector.hellos.at(-1), connector.subscribes], ["t2", [0, 102]], "the collection resumes from its version");
});

test("an aborted watch is not opened again when the connection returns", { skip }, async (t) => {
  const { connector, open } = await setup(t);
  const page = await open();
  await show(page, "/watch");
  const events = await page.evaluate(async () => {
    const abort = new AbortController();
    const watch = pods.watch({ sendInitialEvents: true, signal: abort.signal });
    let events = 0;
    try {
      for await (const _ of watch) if (++events === 2) setTimeout(() => abort.abort(new Error("enough")));
    } catch (error) {
      return `${events} ${(error as Error).message}`;
    }
    return `${events} without an error`;
  });
  assert.equal(events, "2 enough");
  connector.cut();
  await page.waitForFunction(() => pods.status.state === "reconnecting");
  connector.put("default/web-3", "web", "Running");
  await page.evaluate(() => wg.reconnect());
  await shows(page, "web-1 Running, web-2 Pending, web-3 Running");
  const { watches, views } = await page.evaluate(() => wg.inspect());
  assert.deepEqual({ watches, views, opened: await page.evaluate(() => wg.opened().map(({ type }) => type).sort()) }, { watches: 0, views: 1, opened: ["collection", "view"] });
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
