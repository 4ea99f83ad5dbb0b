// This package and connectors of every version of the protocol, as recorded in
// testdata/skew.

import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test, type TestContext } from "node:test";
import { WebSocketServer } from "ws";
import { connect } from "../src/index.js";
import { subprotocol } from "../src/subprotocol.js";
import type { CollectionStatus } from "../src/types.js";
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

/** Starts a connector, and returns its address and the type of the frame after its welcome. */
async function start(t: TestContext, v: Version): Promise<{ url: string; welcomed: Promise<number> }> {
  const server = createServer((_request, response) => response.writeHead(v.get?.code ?? 426, { "Content-Type": "text/plain" }).end(v.get?.text ?? ""));
  const sockets = new WebSocketServer({ noServer: true, handleProtocols: (offered) => [...offered][0]! });
  const welcomed = new Promise<number>((resolve) => {
    server.on("upgrade", (request, socket, head) => {
      socket.on("error", () => {}); // the client may reset the refused connection
      if (v.upgrade && !current(v)) return void socket.end(`HTTP/1.1 ${v.upgrade.code} Refused\r\nContent-Length: ${v.upgrade.text.length}\r\n\r\n${v.upgrade.text}`);
      sockets.handleUpgrade(request, socket, head, (ws) => {
        if (!current(v)) {
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
    for (const part of [`watchglass.v${v.version}`, subprotocol, "reload the page", "upgrade the older one"]) assert.ok(error!.message.includes(part), error!.message);
  });
}
