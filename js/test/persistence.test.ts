// Tests of stored states, which outlive the page, with the built package in a real browser.

import assert from "node:assert/strict";
import type { AddressInfo } from "node:net";
import { test, type TestContext } from "node:test";
import type { Page } from "playwright-core";
import { WebSocket, WebSocketServer } from "ws";
import { concat, split, Writer } from "../src/wire/codec.js";
import { writeSubscriptionStatus } from "../src/wire/status.js";
import { serve, setup, shows, skip, skipUnlessChromium } from "./browser.js";
import { noDemo, startDemo } from "./demo.js";
import { Kubernetes, pod as kubernetesPod } from "./kubernetes.js";

interface StartOptions {
  token?: string;
  persist?: boolean | { maxBytes?: number };
  resource?: string;
  worker?: "shared" | "dedicated" | "inline";
}

/** Opens pods and a view of them, with persistence. */
async function start(page: Page, { token = "t0ken", persist = true, resource = "v1/pods", worker = "shared" }: StartOptions = {}): Promise<void> {
  await page.evaluate(
    async ({ token, persist, resource, worker }) => {
      globalThis.wg = await watchglass.connect("/watch", { token, persist, worker });
      globalThis.pods = wg.collection(resource);
      globalThis.view = pods.view({ sort: "name" });
      view.ready.catch(() => {});
    },
    { token, persist, resource, worker },
  );
}

const counter = (page: Page, name: string): Promise<number | undefined> => page.evaluate(async (name) => (await wg.inspect())[`persistence.${name}`], name);
/**
 * Waits until a counter has reached a value. It does not use waitForFunction, whose predicate
 * cannot be asynchronous.
 */
async function reaches(page: Page, name: string, atLeast: number): Promise<void> {
  while (((await counter(page, name)) ?? 0) < atLeast) await page.waitForTimeout(50);
}

/** Returns the resources of all stored states. */
const stored = (page: Page): Promise<string[]> =>
  page.evaluate(async () => {
    const db = await new Promise<IDBDatabase>((resolve, reject) => {
      const request = indexedDB.open("watchglass");
      request.onsuccess = () => resolve(request.result);
      request.onerror = () => reject(request.error);
    });
    const states = await new Promise<{ scope: string }[]>((resolve) => {
      const request = db.transaction("states").objectStore("states").getAll();
      request.onsuccess = () => resolve(request.result);
    });
    db.close();
    return states.map(({ scope }) => JSON.parse(scope)[0]);
  });

/**
 * Starts a connector and a browser context in which a state of two pods at version 102 is stored.
 * No page is open.
 */
async function filled(t: Parameters<typeof setup>[0], options?: StartOptions) {
  const world = await setup(t);
  const page = await world.open();
  await start(page, options);
  await shows(page, "web-1 Running, web-2 Pending");
  await reaches(page, "stored", 1);
  await page.close();
  return world;
}

const unreachable = 1e9;

test("a page that is opened again without a network shows the stored state, and resumes later", { skip }, async (t) => {
  const { connector, open } = await filled(t);
  connector.refusals = unreachable;
  const page = await open();
  await start(page);
  await shows(page, "web-1 Running, web-2 Pending");
  assert.match(await page.evaluate(() => pods.status.state), /reconnecting|stale/);
  assert.ok((await page.evaluate(() => pods.progress.lastProgress)) > 0);
  assert.equal(await counter(page, "restored"), 1);
  assert.equal((await page.evaluate(() => pods.get("default/web-1"))).metadata.resourceVersion, "101");

  connector.put("default/web-3", "web", "Running");
  connector.refusals = 0;
  await page.evaluate(() => wg.reconnect());
  await shows(page, "web-1 Running, web-2 Pending, web-3 Running");
  await page.waitForFunction(() => pods.status.state === "live");
  assert.deepEqual(connector.subscribes, [0, 102], "no list is sent");
  await reaches(page, "stored", 1);
  await page.close();

  connector.refusals = unreachable;
  const again = await open();
  await start(again);
  await shows(again, "web-1 Running, web-2 Pending, web-3 Running"); // the complete state and the later changes are restored
  assert.equal(await counter(again, "discarded"), 0);
});

test("another user cannot see a stored state, and deletes it", { skip }, async (t) => {
  const { connector, open } = await filled(t);
  connector.refusals = unreachable;
  const other = await open();
  await start(other, { token: "another" });
  assert.equal(await counter(other, "restored"), 0);
  assert.equal(await other.evaluate(() => pods.progress.objects), 0);
  assert.deepEqual(await stored(other), []);
});

test("two users of one browser keep their states while both are present", { skip }, async (t) => {
  const { open } = await setup(t);
  const [first, second] = [await open(), await open()];
  await start(first);
  await reaches(first, "stored", 1);
  await start(second, { token: "another" });
  await reaches(second, "stored", 1);
  assert.deepEqual(await stored(first), ["v1/pods", "v1/pods"]);
});

test("a corrupt stored state is deleted and loaded from the connector", { skip }, async (t) => {
  const { connector, open } = await filled(t);
  const page = await open();
  await page.evaluate(async () => {
    const db = await new Promise<IDBDatabase>((resolve) => {
      const request = indexedDB.open("watchglass");
      request.onsuccess = () => resolve(request.result);
    });
    await new Promise<void>((resolve) => {
      const transaction = db.transaction("chunks", "readwrite");
      transaction.oncomplete = () => resolve();
      const request = transaction.objectStore("chunks").openCursor();
      request.onsuccess = () => {
        const data = request.result!.value as Uint8Array;
        data[data.length >> 1]! ^= 1;
        request.result!.update(data);
      };
    });
    db.close();
  });
  connector.put("default/web-2", "web", "Running");
  await start(page);
  await shows(page, "web-1 Running, web-2 Running");
  assert.equal(await counter(page, "discarded"), 1);
  await reaches(page, "stored", 1);
  await page.close();
  const again = await open();
  await start(again);
  await shows(again, "web-1 Running, web-2 Running");
  await reaches(again, "restored", 1);
});

test("a stored state of another format is deleted, and the page lists", { skip }, async (t) => {
  const { connector, open } = await filled(t);
  const page = await open();
  await page.evaluate(async () => {
    const db = await new Promise<IDBDatabase>((resolve) => {
      const request = indexedDB.open("watchglass");
      request.onsuccess = () => resolve(request.result);
    });
    await new Promise<void>((resolve) => {
      const transaction = db.transaction("states", "readwrite");
      transaction.oncomplete = () => resolve();
      const request = transaction.objectStore("states").openCursor();
      request.onsuccess = () => request.result!.update({ ...request.result!.value, format: "0.0.9 0" });
    });
    db.close();
  });
  connector.refusals = unreachable;
  await start(page);
  await page.waitForFunction(() => pods.status.nextAttempt !== undefined);
  assert.deepEqual(await page.evaluate(() => [pods.progress.objects, view.snapshot.rows.length]), [0, 0]);
  assert.deepEqual(await stored(page), []);
  connector.put("default/web-2", "web", "Running");
  connector.refusals = 0;
  await page.evaluate(() => wg.reconnect());
  await shows(page, "web-1 Running, web-2 Running");
  assert.deepEqual(connector.subscribes, [0, 0]);
  await reaches(page, "stored", 1);
  assert.deepEqual([await counter(page, "restored"), await counter(page, "discarded"), await stored(page)], [0, 0, ["v1/pods"]]);
});

test("the oldest unused state is deleted to make room for another one", { skip }, async (t) => {
  const { connector, open } = await setup(t);
  let bytes = 0;
  // Each page has its own worker, because an engine uses the limit of its first page. The names are
  // in reverse order, because the database returns states in the order of the names.
  for (const resource of ["v1/services", "v1/pods", "v1/nodes"]) {
    const page = await open();
    await start(page, { resource, worker: "dedicated", persist: bytes ? { maxBytes: 2.5 * bytes } : true });
    await reaches(page, "stored", 1);
    bytes ||= (await counter(page, "bytes"))!;
    await page.close();
  }
  const page = await open();
  assert.deepEqual((await stored(page)).sort(), ["v1/nodes", "v1/pods"]);
  connector.subscribes.length = 0;
  for (const resource of ["v1/nodes", "v1/pods", "v1/services"]) {
    await start(page, { resource });
    await shows(page, "web-1 Running, web-2 Pending");
    await page.waitForFunction(() => pods.status.state === "live");
  }
  assert.equal(await counter(page, "restored"), 2);
  assert.deepEqual(connector.subscribes, [102, 102, 0]);
});

test("an exceeded quota ends only the persistence", { skip: skipUnlessChromium }, async (t) => {
  const { connector, open, context } = await setup(t);
  const page = await open();
  const cdp = await context.newCDPSession(page);
  await cdp.send("Storage.overrideQuotaForOrigin", { origin: `http://${connector.address}`, quotaSize: 1 });
  await start(page);
  await shows(page, "web-1 Running, web-2 Pending");
  await reaches(page, "off", 1);
  connector.put("default/web-2", "web", "Running");
  await shows(page, "web-1 Running, web-2 Running");
});

test("a state that exceeds maxBytes is not stored", { skip }, async (t) => {
  const { connector, open } = await setup(t);
  const page = await open();
  await start(page, { persist: { maxBytes: 10 } });
  await shows(page, "web-1 Running, web-2 Pending");
  await reaches(page, "tooLarge", 1);
  connector.put("default/web-2", "web", "Running");
  await shows(page, "web-1 Running, web-2 Running");
  assert.deepEqual(await stored(page), []);
  assert.equal(await counter(page, "off"), 0);
});

test("Secrets are never stored", { skip }, async (t) => {
  const { open } = await setup(t);
  const page = await open();
  await start(page, { resource: "v1/secrets" });
  await page.evaluate(async () => {
    await pods.synced;
    await wg.collection("v1/secrets", { metadataOnly: true }).synced;
    await wg.collection("v1/pods").synced;
  });
  await reaches(page, "stored", 1);
  assert.deepEqual(await stored(page), ["v1/pods"]);
});

test("no state is stored for an unknown user", { skip }, async (t) => {
  const { open } = await setup(t);
  const page = await open();
  await start(page, { token: "" });
  await shows(page, "web-1 Running, web-2 Pending");
  assert.equal(await counter(page, "stored"), undefined);
  assert.deepEqual(await page.evaluate(() => indexedDB.databases()), []);
});

test("a page continues without persistence after a warning about an invalid limit", { skip }, async (t) => {
  const { open } = await setup(t);
  const page = await open();
  const warning = page.waitForEvent("console", (message) => message.type() === "warning");
  await start(page, { worker: "dedicated", persist: { maxBytes: -1 } });
  assert.equal((await warning).text(), "watchglass: persistence is disabled: persist.maxBytes is -1; expected a positive number of bytes");
  await shows(page, "web-1 Running, web-2 Pending");
  assert.equal(await counter(page, "stored"), undefined);
});

// Stored states belong to the user, regardless of the kind of worker whose engine has stored them.
for (const [before, after] of [["inline", "inline"], ["inline", "shared"], ["dedicated", "inline"]] as const) {
  test(`a state that an engine stored (${before}) is restored by another one (${after})`, { skip }, async (t) => {
    const { connector, open } = await filled(t, { worker: before });
    connector.refusals = unreachable;
    const page = await open();
    await start(page, { worker: after });
    await shows(page, "web-1 Running, web-2 Pending");
    assert.equal(await counter(page, "restored"), 1);
    connector.refusals = 0;
    await page.evaluate(() => wg.reconnect());
    await page.waitForFunction(() => pods.status.state === "live");
    assert.deepEqual(connector.subscribes, [0, 102], "no list is sent");
  });
}

test("signing out deletes all states, also while pages are open", { skip }, async (t) => {
  const { connector, open } = await setup(t);
  const page = await open();
  await start(page);
  await reaches(page, "stored", 1);
  await page.evaluate(async () => {
    const entry = "/persistence.js";
    await (await import(entry)).clearPersisted();
  });
  assert.deepEqual(await page.evaluate(() => indexedDB.databases()), []);
  await reaches(page, "off", 1);
  connector.put("default/web-2", "web", "Running");
  await shows(page, "web-1 Running, web-2 Running");
  assert.deepEqual(await page.evaluate(() => indexedDB.databases()), []);
});

test("the state of a collection that becomes forbidden is deleted", { skip }, async (t) => {
  const { connector, open } = await setup(t);
  const page = await open();
  await start(page);
  await reaches(page, "stored", 1);
  const w = new Writer();
  writeSubscriptionStatus(w, 1, { code: 403, reason: "Forbidden", message: "pods is forbidden" });
  connector.send(w.take());
  await page.waitForFunction(() => pods.status.state === "forbidden");
  while ((await stored(page)).length > 0) await page.waitForTimeout(50);
});

test("a stored state of a Kubernetes API without a connector is shown, and resumes", { skip }, async (t) => {
  const kubernetes = new Kubernetes();
  let reachable = true;
  const { open } = await setup(t, (request, response) => {
    if (!request.url!.startsWith("/k8s/")) return serve(request, response);
    if (reachable) kubernetes.answer(request, response);
    else response.destroy();
  });
  const read = (page: Page): Promise<void> =>
    page.evaluate(async () => {
      globalThis.wg = await watchglass.connectKubernetes("/k8s", { token: "t0ken", persist: true });
      globalThis.pods = wg.collection("v1/pods", { columns: [{ name: "Phase", kind: "string", path: ".status.phase" }] });
      globalThis.view = pods.view({ sort: "name" });
      view.ready.catch(() => {});
    });
  const first = await open();
  await read(first);
  await shows(first, "web-1 Running");
  await reaches(first, "stored", 1);
  await first.close();

  reachable = false;
  const page = await open();
  await read(page);
  await shows(page, "web-1 Running");
  assert.equal(await counter(page, "discarded"), 0);
  reachable = true;
  await page.evaluate(() => wg.reconnect());
  await page.waitForFunction(() => pods.status.state === "live");
  kubernetes.send(await kubernetes.watch(1), "ADDED", kubernetesPod("web-2", 9, "Pending"));
  await shows(page, "web-1 Running, web-2 Pending");
});

/**
 * Forwards connections to a connector, except for bodies that follow their rows. Returns the URL to
 * connect to, and a function that forwards all bodies.
 */
async function withoutBodies(t: TestContext, connector: string): Promise<{ url: string; release(): void }> {
  const [bodies, checksum] = [0x1f, 0xa0];
  const held: (() => void)[] = [];
  let released = false;
  const relay = new WebSocketServer({ host: "127.0.0.1", port: 0, handleProtocols: (offered) => [...offered][0]! });
  t.after(() => {
    for (const socket of relay.clients) socket.terminate();
    relay.close();
  });
  relay.on("connection", (socket) => {
    const upstream = new WebSocket(connector, socket.protocol);
    upstream.binaryType = "arraybuffer";
    const early: Uint8Array[] = [];
    socket.on("message", (data: Buffer) => (upstream.readyState === WebSocket.OPEN ? upstream.send(data) : early.push(data)));
    upstream.on("open", () => early.forEach((data) => upstream.send(data)));
    upstream.on("message", (data) => {
      const frames = [...split(new Uint8Array(data as ArrayBuffer))].filter(({ type }) => type !== checksum); // messages are divided
      const late = frames.filter(({ type }) => type === bodies && !released);
      const rest = frames.filter((frame) => !late.includes(frame));
      if (late.length > 0) held.push(() => socket.send(concat(late.map(({ bytes }) => bytes))));
      if (rest.length > 0) socket.send(concat(rest.map(({ bytes }) => bytes)));
    });
    socket.on("close", () => upstream.terminate());
    upstream.on("close", () => socket.terminate());
    upstream.on("error", () => socket.terminate());
  });
  await new Promise((resolve) => relay.on("listening", resolve));
  return {
    url: `ws://127.0.0.1:${(relay.address() as AddressInfo).port}/watch`,
    release: () => {
      released = true;
      for (const send of held.splice(0)) send();
    },
  };
}

test("rows that are complete before their bodies are stored once the bodies have arrived", { skip: skip || noDemo, timeout: 60_000 }, async (t) => {
  const { watch } = await startDemo(t);
  const { url, release } = await withoutBodies(t, watch);
  const { open } = await setup(t);
  const page = await open();
  await page.evaluate(async (url) => {
    globalThis.wg = await watchglass.connect(url, { token: "t0ken", persist: true });
    globalThis.pods = wg.collection("v1/pods", { rowsFirst: true });
    globalThis.view = pods.view({ sort: "name" });
    await view.ready;
  }, url);
  await page.waitForFunction(() => pods.status.state === "live");
  assert.equal(await page.evaluate(() => pods.progress.bodies), 0);
  // All collections are stored together, in the order in which they were opened.
  await page.evaluate(() => void wg.collection("v1/nodes"));
  await reaches(page, "stored", 1);
  assert.deepEqual(await stored(page), ["v1/nodes"]);
  release();
  await reaches(page, "stored", 2);
  assert.deepEqual((await stored(page)).sort(), ["v1/nodes", "v1/pods"]);
});
