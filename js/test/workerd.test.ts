// Tests of the package's built entry for workerd, in workerd itself.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { createInterface } from "node:readline";
import { Readable } from "node:stream";
import type { ReadableStream } from "node:stream/web";
import { test, type TestContext } from "node:test";
import { TestConnector } from "./connector.js";
import { Kubernetes, pod } from "./kubernetes.js";
import { packaged } from "./paths.js";
import { serveWorkerd } from "./workerd.js";

const skip = existsSync(packaged("dist", "watchglass.wasm")) ? false : 'dist/ is not built; run "npm run build" after "make wasm"';
async function setup(t: TestContext) {
  const connector = await TestConnector.start();
  connector.put("default/web-1", "web", "Running");
  connector.put("default/web-2", "web", "Pending");
  connector.put("default/api-1", "api", "Running");
  const workerd = await serveWorkerd(packaged("test", "workerd", "config.capnp"));
  t.after(() => workerd.kill());
  t.after(() => connector.close());
  const request = (path: string, more: Record<string, string> = {}) =>
    fetch(`http://${workerd.address}${path}?${new URLSearchParams({ connector: `ws://${connector.address}/watch`, ...more })}`);
  return { connector, request };
}

test("importers in workerd get its entry", () => {
  const found = execFileSync(process.execPath, ["--conditions=workerd", "--input-type=module", "-e", 'console.log(import.meta.resolve("watchglass"))'], { cwd: packaged(), encoding: "utf8" });
  assert.match(found, /\/dist\/workerd\.js\n$/);
});

test("a view streamed by a worker follows the connector across a disconnect", { skip }, async (t) => {
  const { connector, request } = await setup(t);
  const response = await request("/follow");
  assert.equal(response.status, 200);
  const shows = showing(response);
  await shows("web-1 Running, web-2 Pending");
  connector.put("default/web-2", "web", "Running");
  await shows("web-1 Running, web-2 Running");
  connector.cut();
  connector.put("default/web-3", "web", "Running");
  await shows("web-1 Running, web-2 Running, web-3 Running");
  assert.deepEqual(connector.hellos, ["t0ken", "t0ken"]);
  assert.deepEqual(connector.subscribes, [0, 104]);
});

test("a view streamed by a worker follows Kubernetes without a connector", { skip }, async (t) => {
  const kubernetes = await Kubernetes.start(t);
  const { request } = await setup(t);
  const response = await request("/direct", { kubernetes: kubernetes.url });
  const shows = showing(response);
  await shows("web-1 Running");
  kubernetes.send(await kubernetes.watch(0), "MODIFIED", pod("web-1", 9, "Failed"));
  await shows("web-1 Failed");
});

test("a Durable Object reads for many requests over one connection", { skip }, async (t) => {
  const { connector, request } = await setup(t);
  const web = (await (await request("/get", { key: "default/web-1" })).json()) as { kind: string; metadata: { resourceVersion: string } };
  assert.deepEqual([web.kind, web.metadata.resourceVersion], ["Pod", "101"]);
  const none = await request("/get", { key: "default/none" });
  assert.equal(none.status, 404);
  assert.deepEqual(await none.json(), { name: "WatchglassError", code: 404, reason: "NotFound" });
  assert.equal(connector.hellos.length, 1);
});

/** Returns a function that waits for a line of a streamed response. */
function showing(response: Response): (rows: string) => Promise<void> {
  const states = createInterface(Readable.fromWeb(response.body as ReadableStream))[Symbol.asyncIterator]();
  return async (rows) => {
    for (;;) {
      const { value, done } = await states.next();
      if (done) assert.fail(`the stream ended before it showed ${rows}`);
      if (value === rows) return;
    }
  };
}
