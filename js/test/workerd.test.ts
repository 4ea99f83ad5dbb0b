// The built package's entry for workerd, in workerd.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { Readable } from "node:stream";
import type { ReadableStream } from "node:stream/web";
import { test, type TestContext } from "node:test";
import { TestConnector } from "./connector.js";
import { packaged } from "./paths.js";

const skip = existsSync(packaged("dist", "watchglass.wasm")) ? false : 'dist/ is not built; run "npm run build" after "make wasm"';
// The binary itself: killing the script that npm can put before it would leave it running.
const binary = createRequire(import.meta.url)("workerd").default as string;

/** Starts workerd and returns its address. */
async function serve(t: TestContext): Promise<string> {
  const child = spawn(binary, ["serve", packaged("test", "workerd", "config.capnp"), "--control-fd=3"], { stdio: ["ignore", "inherit", "pipe", "pipe"] });
  let complaint = "";
  child.stderr!.on("data", (chunk) => (complaint += chunk));
  const gone = once(child, "close");
  t.after(async () => {
    child.kill("SIGKILL");
    await gone;
  });
  const [said] = await Promise.race([once(createInterface(child.stdio[3] as Readable), "line"), gone.then(() => Promise.reject(new Error(complaint)))]);
  return `http://127.0.0.1:${JSON.parse(said).port}`;
}

async function setup(t: TestContext) {
  const connector = await TestConnector.start();
  connector.put("default/web-1", "web", "Running");
  connector.put("default/web-2", "web", "Pending");
  connector.put("default/api-1", "api", "Running");
  const address = await serve(t);
  t.after(() => connector.close());
  const ask = (path: string, more: Record<string, string> = {}) =>
    fetch(`${address}${path}?${new URLSearchParams({ connector: `ws://${connector.address}/watch`, ...more })}`);
  return { connector, ask };
}

test("importers in workerd get its entry", () => {
  const found = execFileSync(process.execPath, ["--conditions=workerd", "--input-type=module", "-e", 'console.log(import.meta.resolve("watchglass"))'], { cwd: packaged(), encoding: "utf8" });
  assert.match(found, /\/dist\/workerd\.js\n$/);
});

test("a view streamed by a worker follows the connector, over a cut too", { skip, timeout: 60_000 }, async (t) => {
  const { connector, ask } = await setup(t);
  const response = await ask("/follow");
  assert.equal(response.status, 200);
  const states = createInterface(Readable.fromWeb(response.body as ReadableStream))[Symbol.asyncIterator]();
  const shows = async (rows: string) => {
    for (;;) {
      const { value, done } = await states.next();
      if (done) assert.fail(`the stream ended before it showed ${rows}`);
      if (value === rows) return;
    }
  };
  await shows("web-1 Running, web-2 Pending");
  connector.put("default/web-2", "web", "Running");
  await shows("web-1 Running, web-2 Running");
  connector.cut();
  connector.put("default/web-3", "web", "Running");
  await shows("web-1 Running, web-2 Running, web-3 Running");
  assert.deepEqual(connector.hellos, ["t0ken", "t0ken"]);
  assert.deepEqual(connector.subscribes, [0, 104]);
});

test("a Durable Object reads for many requests over one connection", { skip, timeout: 60_000 }, async (t) => {
  const { connector, ask } = await setup(t);
  const pod = (await (await ask("/get", { key: "default/web-1" })).json()) as { kind: string; metadata: { resourceVersion: string } };
  assert.deepEqual([pod.kind, pod.metadata.resourceVersion], ["Pod", "101"]);
  const none = await ask("/get", { key: "default/none" });
  assert.equal(none.status, 404);
  assert.deepEqual(await none.json(), { name: "WatchglassError", code: 404, reason: "NotFound" });
  assert.equal(connector.hellos.length, 1);
});
