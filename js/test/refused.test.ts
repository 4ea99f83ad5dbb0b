// Tests of how a client outside of browsers reports why a server has refused its WebSocket.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { createServer, type IncomingMessage, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { test, type TestContext } from "node:test";
import { connect } from "../src/index.js";
import type { CollectionStatus } from "../src/types.js";
import { built } from "./paths.js";

const module = built("watchglass.wasm");
const skip = existsSync(module) ? false : "build/watchglass.wasm is missing";

/**
 * Returns the status of a collection after a server has refused its WebSocket, and the HTTP
 * requests that the client then sent to learn the reason.
 */
async function refusedBy(t: TestContext, answer: RequestListener): Promise<{ status: CollectionStatus; requests: IncomingMessage[] }> {
  const requests: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    requests.push(request);
    answer(request, response);
  });
  server.on("upgrade", (_request, socket) => {
    socket.on("error", () => {}); // the client may reset the refused connection
    socket.end("HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => server.close());
  const wg = await connect(`ws://127.0.0.1:${(server.address() as AddressInfo).port}/watch?resource=v1%2Fpods`, { wasm: `file://${module}`, worker: "inline", token: "s3cret" });
  t.after(() => wg.close());
  const pods = wg.collection("v1/pods");
  const status = await new Promise<CollectionStatus>((resolve) => pods.subscribe(() => pods.status.error && resolve(pods.status)));
  return { status, requests };
}

const refuse =
  (code: number, reason: string, message: string, details = {}): RequestListener =>
  (_request, response) => {
    response.writeHead(code, { "Content-Type": "application/json" });
    response.end(JSON.stringify({ kind: "Status", apiVersion: "v1", status: "Failure", metadata: {}, code, reason, message, details }));
  };

test("the reason why an upgrade was refused is reported", { skip }, async (t) => {
  for (const [code, reason, message] of [
    [401, "Unauthorized", "the token has expired"],
    [403, "Forbidden", "the token is for another cluster"],
    [404, "NotFound", "there is no shard"],
  ] as const) {
    const { status, requests } = await refusedBy(t, refuse(code, reason, message));
    assert.deepEqual([status.error?.code, status.error?.reason, status.error?.message], [code, reason, message]);
    const [{ method, url, headers }] = requests as [IncomingMessage];
    assert.deepEqual([method, url, headers.authorization, headers.origin], ["GET", "/watch?resource=v1%2Fpods", "Bearer s3cret", undefined]);
  }
});

test("the complete Status is passed on", { skip }, async (t) => {
  const { status } = await refusedBy(t, refuse(503, "ServiceUnavailable", "not now", { retryAfterSeconds: 20, causes: [{ reason: "Full" }] }));
  assert.deepEqual(status.error, { code: 503, reason: "ServiceUnavailable", message: "not now", cause: "Full", retryAfterSeconds: 20 });
});

test("a response without a reason leaves the WebSocket's message", { skip }, async (t) => {
  const none: Record<string, RequestListener> = {
    "this is a WebSocket endpoint": refuse(426, "UpgradeRequired", "connect with a subprotocol"),
    "no Status": (_request, response) => response.writeHead(401).end("who are you?"),
    "another code than its own": (_request, response) => response.writeHead(502).end(JSON.stringify({ kind: "Status", code: 401, reason: "x", message: "x" })),
    "a page": (_request, response) => response.end("<!doctype html>"),
    "no end": (_request, response) => {
      response.writeHead(401);
      const more = (): void => void (response.destroyed || response.write("x".repeat(10_000), more));
      more();
    },
    "cut off": (_request, response) => void response.socket!.destroy(),
  };
  for (const [name, answer] of Object.entries(none)) {
    const { status } = await refusedBy(t, answer);
    assert.deepEqual([status.error?.code, name], [503, name]);
    assert.match(status.error!.message, /cannot connect to ws:\S+ \(.+\)$/, name);
  }
});
