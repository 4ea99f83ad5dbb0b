import { checkWorker, uint32 } from "./check.js";
import { Client } from "./client.js";
import type { Attach } from "./engine-client.js";
import { badRequest } from "./errors.js";
import { identify } from "./identity.js";
import { lazy, type WatchglassClient } from "./lazy.js";
import { attachWorker, type ToPage, type WorkerCandidate, type WorkerPort } from "./port.js";
import { startEngine } from "./start.js";
import { movedByVite } from "./vite.js";
import type { ConnectOptions, Watchglass } from "./types.js";

export { WatchglassError } from "./errors.js";
export type { WatchglassClient } from "./lazy.js";
export type * from "./types.js";
export { compareResourceVersions } from "./versions.js";

/**
 * Connects to a connector, or joins the connection that another page has. To read
 * Kubernetes without one, see {@link connectKubernetes}.
 *
 * Resolves once there is an engine; whether and how the connector is reached
 * shows in the state of each collection. Rejects with a WatchglassError when
 * the module or the worker cannot be loaded, or the URL is wrong.
 *
 * @param url `wss://host/path`, or `https:` or relative to the page for the same.
 */
export async function connect(url: string | URL, options: ConnectOptions = {}): Promise<Watchglass> {
  checkWorker(options.worker);
  uint32("maxHistory", options.maxHistory ?? 0);
  const target = options.kubernetes ? kubernetesURL(url) : webSocketURL(url);
  const client = await (runsInline(options) ? attachInline(target, options) : attachToWorker(target, options));
  reconnectWhenOnline(client);
  return client;
}

/**
 * Returns a client that connects when it is first used, with the arguments of
 * {@link connect}. It touches no API of browsers before that, so a module that is also
 * loaded on a server may make one.
 */
export function createClient(url: string | URL, options: ConnectOptions = {}): WatchglassClient {
  return lazy(() => connect(url, options));
}

/**
 * Reads a Kubernetes API itself: everything else is as with {@link connect}.
 *
 * The address is that of `kubectl proxy`, of a backend of the page's own origin
 * that passes requests on, or of a kube-apiserver, with a token and, for a page,
 * the CORS headers that it takes. Every collection is one watch and now and then
 * a small list besides, so browsers, which allow six connections to a host over
 * HTTP/1.1, want HTTP/2 for more than a few.
 *
 * @param url such as "http://127.0.0.1:8001", or relative to the page.
 */
export function connectKubernetes(url: string | URL, options: Omit<ConnectOptions, "kubernetes" | "WebSocket"> = {}): Promise<Watchglass> {
  return connect(url, { ...options, kubernetes: true });
}

const runsInline = ({ worker }: ConnectOptions): boolean => (worker ?? (typeof document === "object" && typeof Worker === "function" ? "shared" : "inline")) === "inline";

function attachInline(url: string, options: ConnectOptions): Promise<Client> {
  const attach: Attach = async (events) => {
    const engine = await startEngine({ ...options, url });
    const seat = engine.attach(events);
    return {
      member: seat.member,
      send: (frames) => seat.send(frames),
      leave: () => {
        seat.leave();
        engine.close();
      },
    };
  };
  const { token = "" } = options;
  return Client.attach(attach, async () => (typeof token === "function" ? token() : token));
}

async function attachToWorker(url: string, options: ConnectOptions): Promise<Client> {
  const { wasm, maxBytes, maxHistory, kubernetes } = options;
  const shared = options.worker !== "dedicated" && typeof SharedWorker === "function" && !(wasm instanceof WebAssembly.Module);
  const workers = workerCandidates(shared, options.workerURL);
  const user = await identify(options);
  const port = { url, identity: user.name, token: user.fixed, wasm: absolute(wasm), maxBytes, maxHistory, kubernetes, workers };
  return Client.attach((events) => attachWorker(port, events), user.token);
}

/** Ways to start the worker: the shared one first, if there may be one, then dedicated ones. */
function workerCandidates(shared: boolean, at: URL | string | undefined): WorkerCandidate[] {
  const moved = at === undefined ? movedByVite(import.meta.url) : undefined;
  const locations = moved ? [at, moved] : [at];
  return [
    ...(shared ? locations.map((location) => ({ shared: true, start: () => sharedWorker(location) })) : []),
    ...locations.map((location) => ({ shared: false, start: () => dedicatedWorker(location) })),
  ];
}

// Bundlers find the worker by the expression "new Worker(new URL(…))" and read
// its options, so both are spelled out each time. The name has the version, so
// that a page does not join the worker of an older release in another tab.

function sharedWorker(at: URL | string | undefined): WorkerPort {
  const worker = at
    ? new SharedWorker(at, { type: "module", name: "watchglass-0.1.0" })
    : new SharedWorker(new URL("./worker.js", import.meta.url), { type: "module", name: "watchglass-0.1.0" });
  return workerPort(worker.port, worker, () => worker.port.close());
}

function dedicatedWorker(at: URL | string | undefined): WorkerPort {
  const worker = at
    ? new Worker(at, { type: "module", name: "watchglass-0.1.0" })
    : new Worker(new URL("./worker.js", import.meta.url), { type: "module", name: "watchglass-0.1.0" });
  return workerPort(worker, worker, () => worker.terminate());
}

function workerPort(pipe: MessagePort | Worker, script: AbstractWorker, close: () => void): WorkerPort {
  const port: WorkerPort = {
    onmessage: null,
    onfailure: null,
    postMessage: (message, transfer) => pipe.postMessage(message, transfer),
    close,
  };
  pipe.onmessage = (event: MessageEvent<ToPage>) => port.onmessage?.(event);
  script.onerror = (event) => {
    const { message, filename } = event as Partial<ErrorEvent>;
    port.onfailure?.(message ? `the worker failed: ${message} (${filename})` : "the worker script cannot be loaded");
  };
  return port;
}

/** A location that means the same in the worker. */
function absolute(wasm: ConnectOptions["wasm"]): string | BufferSource | WebAssembly.Module | undefined {
  if (typeof wasm === "string") return new URL(wasm, location.href).href;
  return wasm instanceof URL ? wasm.href : wasm;
}

function webSocketURL(url: string | URL): string {
  const target = parseURL(url, "wss://host/watch");
  target.protocol = target.protocol.replace(/^http/, "ws");
  if (!/^wss?:$/.test(target.protocol)) throw badRequest(`"${url}" is not a WebSocket URL; expected "wss:" or "ws:"`);
  target.hash = "";
  return target.href;
}

/** Without a slash at its end: the paths that are asked for begin with one. */
function kubernetesURL(url: string | URL): string {
  const target = parseURL(url, "http://127.0.0.1:8001");
  if (!/^https?:$/.test(target.protocol)) throw badRequest(`"${url}" is not the URL of a Kubernetes API; expected "https:" or "http:"`);
  if (target.search) throw badRequest(`"${url}" has a query; expected the address of a Kubernetes API, such as "http://127.0.0.1:8001"`);
  return target.origin + target.pathname.replace(/\/+$/, "");
}

function parseURL(url: string | URL, example: string): URL {
  let target: URL;
  try {
    target = new URL(url, typeof location === "object" ? location.href : undefined);
  } catch {
    throw badRequest(`"${url}" is not a URL; expected one such as "${example}"`);
  }
  if (target.username || target.password) throw badRequest('the URL carries credentials; pass them as the "token" option');
  return target;
}

/** A page that gets its network back need not wait for a back-off to pass. */
function reconnectWhenOnline(client: Client): void {
  if (typeof window !== "object") return;
  const page = window; // jsdom may be gone before the client is closed
  const online = (): void => client.reconnect();
  page.addEventListener("online", online);
  client.onClose(() => page.removeEventListener("online", online));
}
