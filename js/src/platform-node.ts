// The variant of platform.ts for Node.
import { readFile as read } from "node:fs/promises";
import { badRequest } from "./errors.js";
import type { WebSocketClass } from "./transport.js";

/** Returns Node's WebSocket, which exists since Node 22, or the one of the package `ws`. */
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
