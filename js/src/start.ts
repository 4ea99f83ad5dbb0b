import { Engine } from "./engine.js";
import { compile, openGuest, type ModuleSource } from "./guest.js";
import { findWebSocket, webSocketDial, type WebSocketClass } from "./transport.js";

/** What it takes to run an engine in this thread. */
export interface StartOptions {
  url: string;
  /** Default: beside this script. */
  wasm?: ModuleSource | undefined;
  maxBytes?: number | undefined;
  WebSocket?: WebSocketClass | undefined;
}

/** Sent to connectors, for their logs. */
const client = "watchglass-js/0.1.0";

/** Loads the module and runs an engine on it. Rejects when it cannot be loaded. */
export async function startEngine({ url, wasm, maxBytes = 0, WebSocket }: StartOptions): Promise<Engine> {
  const [module, Socket] = await Promise.all([
    compile(wasm ?? new URL("./watchglass.wasm", import.meta.url)),
    WebSocket ?? findWebSocket(),
  ]);
  return Engine.start({
    url,
    dial: webSocketDial(Socket),
    guest: () => {
      const seed = crypto.getRandomValues(new BigUint64Array(1))[0]!;
      return openGuest(module, { type: "Config", seed, client, maxBytes, maxHistory: 0, credit: 0 });
    },
  });
}
