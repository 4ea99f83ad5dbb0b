/**
 * The entry `watchglass/inline`: the main entry in one file, which contains the module and the
 * worker's script. It is intended for plugins and other environments that load a single script. For
 * classic scripts, `watchglass.iife.js` has the same contents.
 *
 * Each page has its own engine in a dedicated worker. Browsers cannot share this worker, because
 * its script is a blob.
 */
import module from "inline:module";
import script from "inline:worker";
import { trusted } from "./bootstrap.js";
import { connect as connectTo } from "./index.js";
import { lazy, type WatchglassClient } from "./lazy.js";
import type { ConnectOptions, Watchglass } from "./types.js";

export { WatchglassError } from "./errors.js";
export type { WatchglassClient } from "./lazy.js";
export { whereText } from "./query.js";
export type * from "./types.js";
export { compareResourceVersions } from "./versions.js";

/**
 * The options of a connection, without the locations of files, because the entry contains these
 * files.
 */
export interface InlineOptions extends Omit<ConnectOptions, "worker" | "workerURL" | "wasm"> {
  /**
   * Where the engine runs: "dedicated" (a Worker; the default on pages), or "inline" (this thread;
   * the default elsewhere).
   */
  worker?: "dedicated" | "inline";
}

/**
 * Connects like `connect` of the main entry. The Content-Security-Policy of a page needs
 * `worker-src blob:`.
 */
export async function connect(url: string | URL, options: InlineOptions = {}): Promise<Watchglass> {
  const worker = options.worker ?? (typeof document === "object" && typeof Worker === "function" ? "dedicated" : "inline");
  return connectTo(url, { ...options, worker, wasm: await bytes(), ...(worker === "dedicated" && { workerURL: workerURL() }) });
}

/** Returns a client that connects like {@link connect} when it is first used. */
export function createClient(url: string | URL, options: InlineOptions = {}): WatchglassClient {
  return lazy(() => connect(url, options));
}

/**
 * Connects to a Kubernetes API instead of a connector, like `connectKubernetes` of the main entry.
 */
export function connectKubernetes(url: string | URL, options: Omit<InlineOptions, "kubernetes" | "WebSocket"> = {}): Promise<Watchglass> {
  return connect(url, { ...options, kubernetes: true });
}

/** Decodes the module. The build compresses the module with gzip, and embeds it as Base64. */
async function bytes(): Promise<ArrayBuffer> {
  const compressed = Uint8Array.from(atob(module), (char) => char.charCodeAt(0));
  return new Response(new Blob([compressed]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
}

let blob: string | undefined;

const workerURL = () => trusted((blob ??= URL.createObjectURL(new Blob([script], { type: "text/javascript" }))));
