import { Engine } from "./engine.js";
import { compile, openGuest, type ModuleSource } from "./guest.js";
import { identify } from "./identity.js";
import { fetchRequests } from "./kubernetes.js";
import type { MemberEvents, Membership } from "./member.js";
import { findWebSocket } from "./platform.js";
import { Persistence } from "./persistence/persistence.js";
import { findRefusal } from "./refused.js";
import { webSocketDial, type Dial, type WebSocketClass } from "./transport.js";
import type { ConnectOptions } from "./types.js";
import { movedByVite } from "./vite.js";

/** The options of an engine in this thread. */
export interface StartOptions {
  url: string;
  /** The module. Default: `watchglass.wasm` next to this script. */
  wasm?: ModuleSource | undefined;
  maxBytes?: number | undefined;
  maxHistory?: number | undefined;
  pauseMillis?: number | undefined;
  /** Whether the URL is that of a Kubernetes API, not of a connector. */
  kubernetes?: boolean | undefined;
  fetch?: typeof globalThis.fetch | undefined;
  WebSocket?: WebSocketClass | undefined;
  persistence?: Promise<Persistence | undefined> | undefined;
}

/** The name of this client, which connectors write to their logs. */
const client = "watchglass-js/" + packageVersion;

/** Loads the module and starts an engine. Rejects if the module cannot be loaded. */
export async function startEngine({ url, wasm, maxBytes = 0, maxHistory = 0, pauseMillis = 60_000, kubernetes = false, fetch = (input, init) => globalThis.fetch(input, init), WebSocket, persistence }: StartOptions): Promise<Engine> {
  const [module, dial, opened] = await Promise.all([
    compile(wasm ?? movedByVite(import.meta.url, "watchglass.wasm") ?? new URL("./watchglass.wasm", import.meta.url)),
    kubernetes ? noDial : Promise.resolve(WebSocket ?? findWebSocket()).then((Socket) => webSocketDial(Socket, inBrowser() ? undefined : findRefusal(fetch))),
    persistence,
  ]);
  return Engine.start({
    url,
    pauseMillis,
    persistence: opened,
    dial,
    request: fetchRequests(fetch),
    guest: () => {
      const seed = crypto.getRandomValues(new BigUint64Array(1))[0]!;
      return openGuest(module, { type: "Config", seed, client, maxBytes, maxHistory, credit: 0, kubernetes: kubernetes ? url : "" });
    },
  });
}

/** Starts an engine with one member. The engine ends when the member leaves. */
export async function attachEngine(options: StartOptions & Pick<ConnectOptions, "identity" | "token" | "persist">, events: MemberEvents): Promise<Membership> {
  const { url, persist } = options;
  const open = async (): Promise<Persistence | undefined> => {
    const { name: identity } = await identify(options);
    return Persistence.open({ url, identity, ...(typeof persist === "object" && persist) });
  };
  const persistence = persist ? open() : undefined;
  const engine = await startEngine({ ...options, persistence }).catch(async (error: unknown) => {
    (await persistence)?.close();
    throw error;
  });
  const membership = engine.attach(events);
  return {
    ...membership,
    leave: () => {
      membership.leave();
      engine.close();
    },
  };
}

/** Reports whether this code runs in a page or in a page's worker. Only these have a `location`. */
const inBrowser = (): boolean => typeof location === "object";

/** The Dial of direct mode, which opens no connections to connectors. */
const noDial: Dial = (_url, events) => {
  queueMicrotask(() => events.closed("there is no connector"));
  return { send() {}, close() {} };
};
