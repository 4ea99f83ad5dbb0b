// Tests of the built package in a real browser, with the engine in a SharedWorker, in a dedicated
// Worker, or inline in the page.
//
// The browser is $CHROMIUM or /usr/bin/chromium. The last test uses a real
// connector, at $WATCHGLASS_URL (a ws: URL that serves v1/pods), or else
// build/watchglass if that exists.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { block, inFirefox, launch, serve, setup, show, shows, skip, skipUnlessChromium } from "./browser.js";
import { args } from "./chromium.mjs";
import { noDemo, startDemo } from "./demo.js";
import { Kubernetes, pod as kubernetesPod } from "./kubernetes.js";

/** The WebSocket URL of a connector to use instead of the demo. */
const real = process.env.WATCHGLASS_URL;

for (const worker of ["shared", "dedicated", "inline"] as const) {
  test(`a page with a ${worker} engine follows the connector`, { skip }, async (t) => {
    const { connector, open } = await setup(t);
    const page = await open();
    await show(page, "/watch", worker);
    await shows(page, "web-1 Running, web-2 Pending");
    connector.put("default/web-2", "web", "Running");
    await shows(page, "web-1 Running, web-2 Running");
    const pod = await page.evaluate(() => pods.get("default/web-2"));
    assert.equal(pod.metadata.resourceVersion, "103");
    const event = page.evaluate(async () => {
      for await (const event of pods.watch({ resourceVersion: "103" })) if (event.type === "ADDED") return event.object.metadata.name;
      return undefined;
    });
    connector.put("default/web-3", "web", "Running");
    assert.equal(await event, "web-3");
    const versions = await page.evaluate(async () => {
      for await (const event of pods.watch({ resourceVersion: "102", previous: true })) {
        if (event.type === "MODIFIED") return [event.previous, event.object].map((pod) => pod?.metadata.resourceVersion);
      }
      return [];
    });
    assert.deepEqual(versions, ["102", "103"]);
    connector.cut();
    await page.waitForFunction(() => pods.status.state === "reconnecting");
    connector.delete("default/web-1");
    await page.evaluate(() => wg.reconnect());
    await shows(page, "web-2 Running, web-3 Running");
    assert.deepEqual(connector.hellos, ["t0ken", "t0ken"]);
    await page.evaluate(() => wg.close());
  });
}

// Browsers open at most six HTTP/1.1 connections per host. In a dashboard whose tabs each need a
// connection, the seventh tab stalls.
test("seven pages share one connection, and a page that closes releases its objects", { skip }, async (t) => {
  const { connector, open } = await setup(t);
  const pages = await Promise.all(Array.from({ length: 7 }, open));
  for (const page of pages) await show(page, "/watch");
  connector.put("default/web-2", "web", "Running");
  for (const page of pages) await shows(page, "web-1 Running, web-2 Running");
  assert.equal(connector.hellos.length, 1);
  assert.equal(connector.subscribes.length, 1);
  const second = pages[1]!;
  const count = () => second.evaluate(async () => (await wg.inspect())["views"]);
  assert.equal(await count(), 7);
  await pages[0]!.close({ runBeforeUnload: false });
  while ((await count()) !== 6) await second.waitForTimeout(20); // waitForFunction does not wait for promises
  connector.put("default/web-3", "web", "Running");
  await shows(second, "web-1 Running, web-2 Running, web-3 Running");
});

test("a connection that carries nothing more is reported as stale while the rows stay, and replaced", { skip }, async (t) => {
  const { connector, open } = await setup(t);
  connector.progressMillis = 500;
  const progress = setInterval(() => connector.progress(), 100);
  t.after(() => clearInterval(progress));
  const page = await open();
  await show(page, "/watch");
  connector.silent = true;
  connector.put("default/web-2", "web", "Running");
  await page.waitForFunction(() => pods.status.state === "stale");
  await shows(page, "web-1 Running, web-2 Pending");
  await page.waitForFunction(() => /sent no message for too long/.test(pods.status.error?.message ?? ""));
  connector.silent = false;
  await shows(page, "web-1 Running, web-2 Running");
  await page.waitForFunction(() => pods.status.state === "live");
  assert.ok(connector.hellos.length > 1);
});

// Only Chromium keeps a shared worker alive while its only page reloads.
test("a page that is reloaded finds its objects, unless it closed the connection or has other options", { skip: skipUnlessChromium }, async (t) => {
  const { connector, open } = await setup(t);
  const page = await open();
  await show(page, "/watch");
  const reload = async (): Promise<void> => {
    await page.reload();
    await page.waitForFunction(() => globalThis.watchglass !== undefined);
  };
  const relists = () => page.evaluate(async () => (await wg.inspect())["collection.1.relists"]);
  await reload();
  connector.put("default/web-2", "web", "Running"); // while no page is open
  await show(page, "/watch");
  await shows(page, "web-1 Running, web-2 Running");
  assert.deepEqual([connector.hellos.length, connector.subscribes.length, await relists()], [1, 1, 1]);
  await reload();
  await page.evaluate(async () => (globalThis.wg = await watchglass.connect("/watch", { token: "t0ken", maxHistory: 10 })).collection("v1/pods").synced);
  assert.equal(connector.hellos.length, 2, "no page has the old options");
  await page.evaluate(() => wg.close());
  await reload();
  await page.evaluate(async () => (globalThis.wg = await watchglass.connect("/watch", { token: "t0ken", maxHistory: 10 })).collection("v1/pods").synced);
  assert.equal(connector.hellos.length, 3, "the program closed the connection");
});

test("a page reconnects when the network returns, before the time of the next attempt", { skip }, async (t) => {
  const { connector, open } = await setup(t);
  const page = await open();
  // The clock of the page stands still, so that the next attempt is never due.
  await page.clock.install();
  await page.clock.pauseAt(Date.now() + 60_000);
  await page.evaluate(async () => {
    globalThis.wg = await watchglass.connect("/watch", { worker: "inline" });
    globalThis.pods = wg.collection("v1/pods");
    await pods.synced;
  });
  connector.refusals = 1;
  connector.cut();
  await page.waitForFunction(() => pods.status.nextAttempt !== undefined);
  connector.put("default/web-3", "web", "Running");
  const refused = page.waitForFunction((first) => pods.status.nextAttempt! > first, await page.evaluate(() => pods.status.nextAttempt!));
  await page.evaluate(() => dispatchEvent(new Event("online")));
  await refused;
  assert.deepEqual([connector.attempts, await page.evaluate(() => [pods.status.state, pods.status.nextAttempt! > Date.now()])], [2, ["reconnecting", true]]);
  await page.evaluate(() => dispatchEvent(new Event("online")));
  await page.waitForFunction(() => pods.status.state === "live" && pods.progress.objects === 3);
  assert.equal(connector.attempts, 3);
});

test("an error of a listener is an uncaught error of the page, and later listeners are called", { skip }, async (t) => {
  const { connector, open, takePageErrors } = await setup(t);
  const page = await open();
  await show(page, "/watch");
  await page.evaluate(() => {
    const stop = pods.subscribe(() => {
      stop();
      throw new Error("a bug of the page");
    });
    pods.subscribe(() => ((globalThis as any).called = true));
  });
  const reported = page.waitForEvent("pageerror");
  connector.cut();
  await page.waitForFunction(() => (globalThis as any).called);
  assert.equal((await reported).message, "a bug of the page");
  assert.equal(takePageErrors().length, 1);
});

test("pages of different users do not share an engine", { skip }, async (t) => {
  const { connector, open } = await setup(t);
  const [first, second] = [await open(), await open()];
  await show(first, "/watch");
  await second.evaluate(async () => {
    globalThis.wg = await watchglass.connect("/watch", { token: "another" });
    await wg.collection("v1/pods").synced;
  });
  assert.deepEqual(connector.hellos, ["t0ken", "another"]);
});

// The session may be a cookie, and the next page may have the cookie of another user.
test("pages without a token share an engine only if they have the same identity", { skip }, async (t) => {
  const { connector, open } = await setup(t);
  for (const [identity, connections] of [[undefined, 1], [undefined, 2], ["ann", 3], ["ann", 3], ["bob", 4]] as const) {
    const page = await open();
    await page.evaluate(async (identity) => {
      globalThis.wg = await watchglass.connect("/watch", identity ? { identity } : {});
      await wg.collection("v1/pods").synced;
    }, identity);
    assert.equal(connector.hellos.length, connections, identity);
  }
});

test("a worker that dies is replaced", { skip: skipUnlessChromium }, async (t) => {
  const { connector, open, browser } = await setup(t);
  const page = await open();
  await show(page, "/watch");
  const cdp = await browser.newBrowserCDPSession();
  const { targetInfos } = await cdp.send("Target.getTargets");
  const worker = targetInfos.find((target) => target.type === "shared_worker" && target.url.includes(connector.address));
  const answers = (connector.held = []) as (() => void)[]; // the responses are sent after the page has reported the loss
  await cdp.send("Target.closeTarget", { targetId: worker!.targetId });
  await page.waitForFunction(() => pods.status.state !== "live");
  connector.held = undefined;
  for (const answer of answers) answer();
  connector.put("default/web-3", "web", "Running");
  await shows(page, "web-1 Running, web-2 Pending, web-3 Running");
  await page.waitForFunction(() => pods.status.state === "live");
});

test("pages with token functions share an engine only for the same proven user", { skip }, async (t) => {
  const { connector, open } = await setup(t);
  const connectAs = async (claims: object | undefined): Promise<Page> => {
    const page = await open();
    await page.evaluate(async (claims) => {
      const token = claims ? `e30.${btoa(JSON.stringify(claims))}.x` : "opaque";
      globalThis.wg = await watchglass.connect("/watch", { token: () => token });
      globalThis.pods = wg.collection("v1/pods");
      await pods.synced;
    }, claims);
    return page;
  };
  const ann = { iss: "https://issuer.example.com", sub: "ann" };
  for (const [claims, connections] of [[ann, 1], [ann, 1], [{ ...ann, sub: "bob" }, 2], [undefined, 3], [undefined, 4]] as const) {
    await connectAs(claims);
    assert.equal(connector.hellos.length, connections, JSON.stringify(claims));
  }
});

test("a pending token function does not block another page from reconnecting", { skip }, async (t) => {
  const { connector, open } = await setup(t);
  const connectPage = async (waits: boolean): Promise<Page> => {
    const page = await open();
    await page.evaluate(async (waits) => {
      let calls = 0;
      const token = (): string | Promise<string> => (waits && ++calls > 0 ? new Promise<string>(() => {}) : "t0ken");
      globalThis.wg = await watchglass.connect("/watch", { token, identity: "ann" });
      globalThis.pods = wg.collection("v1/pods");
      globalThis.view = pods.view({ sort: "name" });
      await view.ready;
    }, waits);
    return page;
  };
  const first = await connectPage(false);
  await connectPage(true);
  connector.cut();
  connector.put("default/web-3", "web", "Running");
  await first.waitForFunction(() => pods.status.state === "reconnecting");
  await first.evaluate(() => wg.reconnect());
  await shows(first, "web-1 Running, web-2 Pending, web-3 Running");
});

test("an unresponsive worker is reported as stale and replaced, and new pages do not wait for it", { skip: skipUnlessChromium }, async (t) => {
  const { connector, open, browser } = await setup(t);
  const page = await open();
  await show(page, "/watch");
  await page.evaluate(() => {
    const states: string[] = ((globalThis as any).states = []);
    pods.subscribe(() => states.push(`${pods.status.state} ${pods.status.error?.message ?? ""}`));
  });
  const cdp = await browser.newBrowserCDPSession();
  const { targetInfos } = await cdp.send("Target.getTargets");
  const worker = targetInfos.find((target) => target.type === "shared_worker" && target.url.includes(connector.address));
  const { sessionId } = await cdp.send("Target.attachToTarget", { targetId: worker!.targetId });
  // Block the worker's thread until the test ends.
  await cdp.send("Target.sendMessageToTarget", { sessionId, message: JSON.stringify({ id: 1, method: "Runtime.evaluate", params: { expression: block } }) });
  const inspected = page.evaluate(async () => (await wg.inspect())["views"]); // the replacement responds
  const other = await open();
  const late = show(other, "/watch");
  connector.put("default/web-3", "web", "Running");
  await shows(page, "web-1 Running, web-2 Pending, web-3 Running");
  await page.waitForFunction(() => pods.status.state === "live");
  const states = await page.evaluate(() => (globalThis as any).states as string[]);
  assert.ok(states.includes("stale the worker has not responded for 15 s"), states.join("; "));
  assert.equal(await inspected, 1);
  await late;
  await shows(other, "web-1 Running, web-2 Pending, web-3 Running");
  await cdp.send("Target.closeTarget", { targetId: worker!.targetId });
});

// Chromium does not start module workers in a sandboxed frame.
test("a page in a sandboxed frame connects or gets a WatchglassError", { skip }, async (t) => {
  const { open } = await setup(t);
  const page = await open();
  const state = (options: { worker?: "inline" }) => page.evaluate((options) => {
    const frame = document.createElement("iframe");
    frame.setAttribute("sandbox", "allow-scripts");
    const answer = new Promise((resolve) => addEventListener("message", ({ data }) => resolve(data), { once: true }));
    frame.srcdoc = `<script type="module">
      import("${location.origin}/index.js")
        .then((w) => w.connect("${location.origin}/watch", ${JSON.stringify(options)}))
        .then(() => "connected", (e) => e.name + ": " + e.message)
        .then((text) => parent.postMessage(text, "*"));
    </script>`;
    document.body.append(frame);
    return answer as Promise<string>;
  }, options);
  assert.equal(await state({ worker: "inline" }), "connected");
  const shared = await state({});
  assert.match(shared, inFirefox ? /^connected$/ : /^WatchglassError: the worker cannot be started: /);
  assert.doesNotMatch(shared, /LockManager/); // an unclear error that the browser throws
});

test("a page that is not a secure context connects", { skip: skipUnlessChromium }, async (t) => {
  const browser = await launch({ args: [...args, "--host-resolver-rules=MAP plain.test 127.0.0.1"] });
  t.after(() => browser.close());
  const { connector, context } = await setup(t, serve, browser);
  const page = await context.newPage();
  await page.goto(`http://${connector.address.replace("127.0.0.1", "plain.test")}/`);
  await page.waitForFunction(() => globalThis.watchglass !== undefined);
  assert.equal(await page.evaluate(() => isSecureContext), false);
  for (const token of ["t0ken", undefined]) {
    await page.evaluate(async (token) => {
      globalThis.wg = await watchglass.connect("/watch", token ? { token } : {});
      globalThis.view = wg.collection("v1/pods").view({ sort: "name" });
      await view.ready;
    }, token);
    await shows(page, "web-1 Running, web-2 Pending");
  }
});

test("a worker that cannot be loaded is reported", { skip }, async (t) => {
  const page = await (await setup(t)).open();
  for (const options of [{ workerURL: "/absent.js" }, { workerURL: "/absent.js", worker: "dedicated" as const }, { wasm: "/absent.wasm" }]) {
    const message = await page.evaluate((options) => watchglass.connect("/watch", options).then(() => "", (e: Error) => e.message), options);
    assert.match(message, /cannot (be )?load/);
  }
});

test("a module that does not arrive is reported after a minute", { skip }, async (t) => {
  const page = await (await setup(t)).open();
  await page.clock.install();
  const requested = page.waitForRequest(/\/unanswered/);
  const message = page.evaluate(() => watchglass.connect("/watch", { worker: "inline", wasm: "/unanswered" }).then(() => "", (e: Error) => `${e.name}: ${e.message}`));
  await requested;
  await page.clock.fastForward(60_000);
  assert.match(await message, /^WatchglassError: cannot load the watchglass module from .*\/unanswered: it was not loaded within 60 s/);
});

// The engine is in a separate file, which contains its own copy of the error class.
test("an engine that cannot start in the page's thread is reported as a WatchglassError", { skip }, async (t) => {
  const { open } = await setup(t);
  const failure = (page: Page, wasm?: string): Promise<string> =>
    page.evaluate(
      (wasm) =>
        watchglass.connect("/watch", { worker: "inline", wasm: wasm ?? new Uint8Array() }).then(
          () => "connected",
          (e: unknown) => (e instanceof watchglass.WatchglassError ? `${e.code} ${e.message}` : `another error: ${String(e)}`),
        ),
      wasm,
    );
  const page = await open();
  await page.route("**/start.js", (route) => route.abort(), { times: 1 });
  assert.match(await failure(page), /^500 the engine cannot be started: .*start\.js/);
  const another = await open(); // a page does not retry a module that failed to load
  assert.match(await failure(another, "/absent.wasm"), /^500 cannot load the watchglass module from .*absent.wasm: HTTP 404/);
  assert.match(await failure(another), /^500 the engine cannot be started: .*(WebAssembly|wasm)/);
});

for (const worker of ["shared", "dedicated", "inline"] as const) {
  test(`a page with a ${worker} engine reads Kubernetes through a backend of its origin`, { skip }, async (t) => {
    const kubernetes = new Kubernetes();
    const { open } = await setup(t, (request, response) => {
      if (!request.url!.startsWith("/k8s/")) return serve(request, response);
      assert.equal(request.headers.authorization, "Bearer t0ken");
      kubernetes.answer(request, response);
    });
    const page = await open();
    await page.evaluate(async (worker) => {
      globalThis.wg = await watchglass.connectKubernetes("/k8s", { token: "t0ken", worker });
      globalThis.pods = wg.collection("v1/pods");
      globalThis.view = pods.view({ sort: "name" });
      await view.ready;
    }, worker);
    const status = await page.evaluate(() => pods.schema!.columns.findIndex(({ name }) => name === "Status"));
    await shows(page, "web-1 Running", status);
    kubernetes.send(await kubernetes.watch(0), "ADDED", kubernetesPod("web-2", 9, "Pending"));
    await shows(page, "web-1 Running, web-2 Pending", status);
    (await kubernetes.watch(0)).destroy();
    await page.waitForFunction(() => pods.status.state === "reconnecting");
    await page.evaluate(() => wg.reconnect());
    kubernetes.send(await kubernetes.watch(1), "DELETED", kubernetesPod("web-1", 12));
    await shows(page, "web-2 Pending", status);
  });
}

test("a page shows the pods of a real connector", { skip: skip || (!real && noDemo) }, async (t) => {
  const { open } = await setup(t);
  const url = real ?? (await startDemo(t, { pods: 200 })).watch;
  const page = await open();
  await show(page, url);
  await page.waitForFunction(() => view.snapshot.total >= 100 && pods.status.state === "live");
  const { rows, columns, first } = await page.evaluate(async () => ({
    rows: view.snapshot.rows.length,
    columns: pods.schema!.columns.map((c) => c.name),
    first: await pods.get(view.snapshot.rows[0]!.key),
  }));
  assert.equal(rows, 100);
  assert.ok(columns.length > 2);
  assert.equal(first.kind, "Pod");
});
