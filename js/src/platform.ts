// The platform functions of browsers, workers and workerd. The build for Node replaces this module
// with platform-node.ts, so that the bundle of a page contains no import of Node's modules.
import { badRequest, internalError } from "./errors.js";
import type { WebSocketClass } from "./transport.js";

/** Returns the platform's WebSocket. Rejects with a 400 if the platform has none. */
export async function findWebSocket(): Promise<WebSocketClass> {
  if (typeof WebSocket === "function") return WebSocket;
  throw badRequest('this platform has no WebSocket: pass a WebSocket class as the "WebSocket" option');
}

/** Always rejects, because only Node can read file: URLs. */
export async function readFile(_url: URL): Promise<Uint8Array<ArrayBuffer>> {
  throw internalError("this build of watchglass cannot read files; Node requires the build of the export condition \"node\"");
}
