// Tests the package in Vitest with jsdom, whose realm has its own ArrayBuffer class.

import assert from "node:assert/strict";
import { symlinkSync } from "node:fs";
import { execFile } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { here, workspace } from "./support.mjs";

const space = workspace("jsdom");

const setup = `import { expect, test } from "vitest";
import { connect, createClient } from "watchglass";`;

/** Returns the test files of a project that uses the package. */
const files = (url) => ({
  "cluster.test.js": `${setup}
import { TestCluster } from "watchglass/testing";
test("a component sees the objects of the cluster in memory", async () => {
  const cluster = new TestCluster();
  cluster.apply({ apiVersion: "v1", kind: "Pod", metadata: { name: "web-1", namespace: "default" } });
  const client = createClient(cluster.url, cluster.options);
  const pods = (await client.connect()).collection("v1/pods");
  const view = pods.view({ sort: "name" });
  await view.ready;
  cluster.apply({ apiVersion: "v1", kind: "Pod", metadata: { name: "web-2", namespace: "default" } });
  await new Promise((resolve) => view.subscribe(() => view.snapshot.total === 2 && resolve()));
  document.body.innerHTML = view.snapshot.rows.map(({ name }) => name).join(" ");
  expect(document.body.textContent).toBe("web-1 web-2");
  client.close();
});`,
  "connector.test.js": `${setup}
import { runInNewContext } from "node:vm";
import { WebSocket as Socket } from "ws";
const foreign = runInNewContext("(bytes) => Uint8Array.from(bytes).buffer");
/** A WebSocket whose messages are of another realm, like the messages of a frame. */
class ForeignSocket extends Socket {
  set onmessage(listener) {
    super.onmessage = ({ data }) => listener({ data: foreign(new Uint8Array(data)) });
  }
}
test("buffers of other realms are no ArrayBuffer", () => expect(foreign([1]) instanceof ArrayBuffer).toBe(false));
for (const [name, WebSocket] of Object.entries({ "the default": undefined, ws: Socket, "another realm": ForeignSocket })) {
  test(\`a connector is read through a WebSocket: \${name}\`, async () => {
    const wg = await connect(${JSON.stringify(url)}, { ...(WebSocket && { WebSocket }) });
    const { items } = await wg.collection("v1/pods").list();
    expect(items.map(({ metadata }) => metadata.name).sort()).toEqual(["web-1", "web-2"]);
    wg.close();
  });
}`,
});

// In the pool vmForks, the globals of a test and the buffers from Node belong to different realms.
for (const pool of ["forks", "vmForks"]) {
  test(`the tests of a project run in Vitest with jsdom, in the pool ${pool}`, { timeout: 240_000 }, async () => {
    const root = space.project(pool, { ...files(space.url), "vitest.config.js": `export default { test: { environment: "jsdom", pool: "${pool}", testTimeout: 60_000 } };` });
    for (const name of ["vitest", "jsdom", "vite"]) symlinkSync(join(here, "node_modules", name), join(root, "node_modules", name));
    symlinkSync(join(here, "../node_modules/ws"), join(root, "node_modules/ws"));
    const vitest = join(here, "node_modules/vitest/vitest.mjs");
    const { stdout } = await promisify(execFile)(process.execPath, [vitest, "run", "--root", root], { cwd: root, env: { ...process.env, NO_COLOR: "1" } }).catch(({ stdout, stderr, message }) => assert.fail(stdout + stderr || message));
    assert.match(stdout, /Tests +5 passed/);
  });
}
