import { abortable } from "./abort.js";
import { checkWorker, uint32 } from "./check.js";
import { Client } from "./client.js";
import type { Attach } from "./engine-client.js";
import { badRequest, internalError, messageOf, WatchglassError } from "./errors.js";
import { identify } from "./identity.js";
import { lazy, type WatchglassClient } from "./lazy.js";
import { attachWorker, type ToPage, type WorkerCandidate, type WorkerPort } from "./port.js";
import { movedByVite } from "./vite.js";
import type { ConnectOptions, Watchglass } from "./types.js";

export { WatchglassError } from "./errors.js";
export type { WatchglassClient } from "./lazy.js";
export { whereText } from "./query.js";
export type * from "./types.js";
export { compareResourceVersions } from "./versions.js";

/**
 * Connects to a connector, or joins the connection of another page. To read Kubernetes
 * without a connector, see {@link connectKubernetes}.
 *
 * Resolves as soon as the engine runs, without waiting for the connector. The `status` of each
 * collection reports whether the connector is reachable. Rejects with a WatchglassError if the
 * module or the worker cannot be loaded, or if the URL is invalid.
 *
 * @param url The address of the connector, such as `wss://host/path`. `https:` and `http:` URLs and
 * URLs relative to the page are also accepted.
 */
export async function connect(url: string | URL, options: ConnectOptions = {}): Promise<Watchglass> {
  checkWorker(options.worker);
  uint32("maxHistory", options.maxHistory ?? 0);
  const target = options.kubernetes ? kubernetesURL(url) : webSocketURL(url);
  const attach = (): Promise<Client> => (runsInline(options) ? attachInline(target, options) : attachToWorker(target, options));
  const client = await abortable(attach, options.signal, (late) => late.close());
  followPage(client);
  return client;
}

/**
 * Returns a client that connects when it is first used, with the arguments of {@link connect}. The
 * client uses no browser API before its first use, so modules that are also loaded on a server may
 * create one.
 */
export function createClient(url: string | URL, options: ConnectOptions = {}): WatchglassClient {
  return lazy(() => connect(url, options));
}

/**
 * Connects to a Kubernetes API instead of a connector. The client has the same methods as one that
 * {@link connect} returns.
 *
 * The URL is that of `kubectl proxy`, of a backend on the page's own origin that forwards requests,
 * or of a kube-apiserver. A kube-apiserver needs a token and, for pages, CORS headers. Each
 * collection keeps one watch open, and occasionally requests a small list. Browsers allow six
 * connections per host over HTTP/1.1, so more than a few collections need HTTP/2.
 *
 * @param url An absolute URL such as "http://127.0.0.1:8001", or one relative to the page.
 */
export function connectKubernetes(url: string | URL, options: Omit<ConnectOptions, "kubernetes" | "WebSocket"> = {}): Promise<Watchglass> {
  return connect(url, { ...options, kubernetes: true });
}

const runsInline = ({ worker }: ConnectOptions): boolean => (worker ?? (typeof document === "object" && typeof Worker === "function" ? "shared" : "inline")) === "inline";

function attachInline(url: string, options: ConnectOptions): Promise<Client> {
  const attach: Attach = async (events) => {
    try {
      // The import is dynamic, so that a page whose engine runs in a worker does not load the
      // engine.
      const { attachEngine } = await import("./start.js");
      return await attachEngine({ ...options, url }, events);
    } catch (error) {
      // start.js is a separate bundle with its own copy of the class WatchglassError. Its errors
      // are converted, so that instanceof works for callers.
      const { status } = error as Partial<WatchglassError>;
      throw status ? new WatchglassError(status, { cause: error }) : internalError(`the engine cannot be started: ${messageOf(error)}`, error);
    }
  };
  const { token = "" } = options;
  return Client.attach(attach, async () => (typeof token === "function" ? token() : token));
}

async function attachToWorker(url: string, options: ConnectOptions): Promise<Client> {
  const { wasm, maxBytes, maxHistory, pauseMillis, kubernetes, persist } = options;
  const shared = options.worker !== "dedicated" && !(wasm instanceof WebAssembly.Module);
  const workers = workerCandidates(shared, options.workerURL);
  const user = await identify(options);
  const port = { url, identity: user.name, token: user.fixed, wasm: absolute(wasm), maxBytes, maxHistory, pauseMillis, kubernetes, persist, workers };
  return Client.attach((events) => attachWorker(port, events), user.token);
}

// Loaded on demand, because few pages need this code.
const load = () => import("./optional.js");

/**
 * Returns the ways to start the worker, in order of preference. If `share` is set, a worker for all
 * pages comes first, and then one for this page alone. If SharedWorker is unavailable or the script
 * is from another origin, an elected page runs the worker for all pages.
 */
function workerCandidates(share: boolean, at: ConnectOptions["workerURL"]): WorkerCandidate[] {
  const moved = at === undefined ? movedByVite(import.meta.url, "worker.js") : undefined;
  const locations = moved ? [at, moved] : [at];
  const script = new URL(String(at ?? import.meta.url.replace(/[^/]*$/, "worker.js")), location.href);
  const remote = /^http/.test(script.protocol) && script.origin !== location.origin;
  const dedicated: WorkerCandidate["start"][] = remote
    ? [async () => dedicatedWorker((await load()).bootstrap(script.href))]
    : locations.map((location) => () => dedicatedWorker(location));
  const shared =
    typeof SharedWorker === "function" && !remote
      ? locations.map((location) => ({ shared: true, start: () => sharedWorker(location) }))
      : dedicated.map((start, i) => ({ shared: false, start: async () => (await load()).elect(`watchglass-${packageVersion} ${i} ${script}`, start) }));
  return [...(share ? shared : []), ...dedicated.map((start) => ({ shared: false, start }))];
}

// Bundlers detect a worker by the literal expression "new Worker(new URL(…))" and its options, so
// each call spells out both. The build replaces the name with a literal. The name contains the
// version, so that a page does not join the worker of an older release in another tab.

function sharedWorker(at: ConnectOptions["workerURL"]): WorkerPort {
  const worker = at
    ? new SharedWorker(at as string, { type: "module", name: "watchglass-" + packageVersion, extendedLifetime: true } as WorkerOptions)
    : new SharedWorker(new URL("./worker.js", import.meta.url), { type: "module", name: "watchglass-" + packageVersion, extendedLifetime: true } as WorkerOptions);
  return workerPort(worker.port, worker, () => worker.port.close());
}

function dedicatedWorker(at: ConnectOptions["workerURL"]): WorkerPort {
  const worker = at
    ? new Worker(at as string, { type: "module", name: "watchglass-" + packageVersion })
    : new Worker(new URL("./worker.js", import.meta.url), { type: "module", name: "watchglass-" + packageVersion });
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

/** Resolves a location against the page, because a worker would resolve it against its script. */
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

/** Returns the absolute URL without trailing slashes, because request paths begin with a slash. */
function kubernetesURL(url: string | URL): string {
  const target = parseURL(url, "http://127.0.0.1:8001");
  if (!/^https?:$/.test(target.protocol)) throw badRequest(`"${url}" is not the URL of a Kubernetes API; expected "https:" or "http:"`);
  if (target.search) throw badRequest(`"${url}" has a query; expected a URL such as "http://127.0.0.1:8001"`);
  return target.origin + target.pathname.replace(/\/+$/, "");
}

function parseURL(url: string | URL, example: string): URL {
  let target: URL;
  try {
    target = new URL(url, typeof location === "object" ? location.href : undefined);
  } catch {
    throw badRequest(`"${url}" is not a URL; expected one such as "${example}"`);
  }
  if (target.username || target.password) throw badRequest('the URL contains credentials; pass them as the "token" option');
  return target;
}

/**
 * Makes the client reconnect immediately when the network returns, and informs it when the page is
 * hidden or shown. A page in the back-forward cache counts as hidden.
 */
function followPage(client: Client): void {
  if (typeof window !== "object") return;
  const page = window; // jsdom may remove it before the client is closed
  const { document } = page;
  const online = (): void => client.reconnect();
  const look = (): void => client.hide(document.hidden);
  page.addEventListener("online", online);
  page.addEventListener("pageshow", look);
  document.addEventListener("visibilitychange", look);
  if (document.hidden) look();
  client.onClose(() => {
    page.removeEventListener("online", online);
    page.removeEventListener("pageshow", look);
    document.removeEventListener("visibilitychange", look);
  });
}
