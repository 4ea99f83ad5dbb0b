// The variant of platform.ts for Node.
import { readFile as read } from "node:fs/promises";
import { badRequest } from "./errors.js";
import type { WebSocketClass } from "./transport.js";

/**
 * Returns the WebSocket of Node 22 or later, or else that of the package `ws`. Rejects with a 400
 * if there is neither.
 */
export async function findWebSocket(): Promise<WebSocketClass> {
  if (typeof WebSocket === "function") return WebSocket;
  try {
    const name: string = "ws"; // an optional peer dependency, hidden from bundlers
    return ((await import(/* webpackIgnore: true */ /* @vite-ignore */ name)) as { WebSocket: WebSocketClass }).WebSocket;
  } catch {
    throw badRequest('this platform has no WebSocket: install the package "ws", or pass a WebSocket class as the "WebSocket" option');
  }
}

export async function readFile(url: URL): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array(await read(url));
}
