// What the package needs of the platform and browsers, workers and workerd have.
// The build for Node replaces this module by platform-node.ts, so that a bundler
// of a page never sees an import of Node's.
import { badRequest, internalError } from "./errors.js";
import type { WebSocketClass } from "./transport.js";

/** Returns the platform's WebSocket. Rejects with a 400 where there is none. */
export async function findWebSocket(): Promise<WebSocketClass> {
  if (typeof WebSocket === "function") return WebSocket;
  throw badRequest('this platform has no WebSocket: pass a WebSocket class as the "WebSocket" option');
}

/** Reads a file: URL. Rejects here: only the build for Node has a file system. */
export async function readFile(_url: URL): Promise<Uint8Array<ArrayBuffer>> {
  throw internalError("this build of watchglass cannot read files; Node needs the one under the export condition \"node\"");
}
