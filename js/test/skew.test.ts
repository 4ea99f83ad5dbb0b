// Tests of this package with connectors of every version of the protocol. testdata/skew contains
// their recorded responses.

import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test, type TestContext } from "node:test";
import { WebSocketServer } from "ws";
import { connect } from "../src/index.js";
import { subprotocol } from "../src/subprotocol.js";
import type { CollectionStatus } from "../src/types.js";
import { launch, serve, skip as noBrowser, watchErrors } from "./browser.js";
import { built, testdata } from "./paths.js";

interface Version {
  version: number;
  welcome: string;
  refused: string;
  upgrade?: { code: number; text: string };
  get?: { code: number; text: string };
}

const module = built("watchglass.wasm");
const skip = existsSync(module) ? false : "build/watchglass.wasm is missing";
const directory = testdata("skew");
const versions = readdirSync(directory)
  .filter((name) => name.endsWith(".json"))
  .map((name): Version => JSON.parse(readFileSync(`${directory}/${name}`, "utf8")));

const current = ({ version }: Version): boolean => subprotocol === `watchglass.v${version}`;

/**
 * Returns the strings that an error about different versions must contain: both versions and the
 * remedies.
 */
const remedy = (v: Version): string[] => [`watchglass.v${v.version}`, subprotocol, "reload the page", "upgrade the older one"];

/**
 * Starts a connector that speaks one version of the protocol. Returns its URL, and the type of the
 * frame that the client sends after the connector's welcome. A connector that refuses other
 * versions with an HTTP response still accepts a client that offers its version.
 */
async function start(t: TestContext, v: Version): Promise<{ url: string; welcomed: Promise<number> }> {
  const own = `watchglass.v${v.version}`;
  const server = createServer((_request, response) => response.writeHead(v.get?.code ?? 426, { "Content-Type": "text/plain" }).end(v.get?.text ?? ""));
  const sockets = new WebSocketServer({ noServer: true, handleProtocols: (offered) => (offered.has(own) ? own : [...offered][0]!) });
  const welcomed = new Promise<number>((resolve) => {
    server.on("upgrade", (request, socket, head) => {
      socket.on("error", () => {}); // the client may reset the refused connection
      const offered = (request.headers["sec-websocket-protocol"] ?? "").split(/, */);
      if (v.upgrade && !offered.includes(own)) return void socket.end(`HTTP/1.1 ${v.upgrade.code} Refused\r\nContent-Length: ${v.upgrade.text.length}\r\n\r\n${v.upgrade.text}`);
      sockets.handleUpgrade(request, socket, head, (ws) => {
        if (!current(v) && !v.upgrade) {
          ws.send(Buffer.from(v.refused, "hex"));
          return ws.close(1002);
        }
        ws.once("message", () => {
          ws.once("message", (data: Buffer) => resolve(data[0]!));
          ws.send(Buffer.from(v.welcome, "hex"));
        });
      });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    for (const ws of sockets.clients) ws.terminate();
    server.close();
  });
  return { url: `ws://127.0.0.1:${(server.address() as AddressInfo).port}/watch`, welcomed };
}

test("the current version is recorded", () => assert.ok(versions.some(current), `record ${subprotocol} in testdata/skew`));

for (const v of versions) {
  const outcome = current(v) ? "serves this reader" : "refuses this reader with a remedy";
  test(`a connector of version ${v.version} ${outcome}`, { skip }, async (t) => {
    const { url, welcomed } = await start(t, v);
    const wg = await connect(url, { wasm: `file://${module}`, worker: "inline" });
    t.after(() => wg.close());
    const pods = wg.collection("v1/pods");
    if (current(v)) return assert.equal(await welcomed, 0x02, "the reader subscribes");
    const { error } = await new Promise<CollectionStatus>((resolve) => pods.subscribe(() => pods.status.error && resolve(pods.status)));
    for (const part of remedy(v)) assert.ok(error!.message.includes(part), error!.message);
  });
}

test("a page in a browser learns which version its connector has", { skip: noBrowser }, async (t) => {
  const server = createServer(serve);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const browser = await launch();
  t.after(async () => {
    await browser.close();
    server.close();
  });
  const errors = watchErrors(t);
  for (const v of versions.filter((v) => !current(v))) {
    const { url } = await start(t, v); // the connector has another origin and sends no CORS headers
    for (const worker of ["shared", "inline"] as const) {
      const page = await browser.newPage();
      errors.add(page);
      await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
      await page.waitForFunction(() => globalThis.watchglass !== undefined);
      const { code, reason, message } = await page.evaluate(
        async ({ url, worker }) => {
          const pods = (await watchglass.connect(url, { token: "t0ken", worker })).collection("v1/pods");
          return new Promise<{ code: number; reason: string; message: string }>((resolve) => pods.subscribe(() => pods.status.error && resolve(pods.status.error)));
        },
        { url, worker },
      );
      assert.deepEqual([code, reason], [400, "ProtocolError"]);
      for (const part of remedy(v)) assert.ok(message.includes(part), message);
    }
  }
});
