/**
 * The main entry in one file: the module and the worker's script are part of it. For
 * plugins of other programs, and other environments that load a single script. The
 * entry `watchglass/inline`, and `watchglass.iife.js` for classic scripts.
 *
 * Each page has its own engine, in a dedicated worker whose script is a blob, because
 * browsers cannot share such workers.
 */
import module from "inline:module";
import script from "inline:worker";
import { trusted } from "./bootstrap.js";
import { connect as connectTo } from "./index.js";
import { lazy, type WatchglassClient } from "./lazy.js";
import type { ConnectOptions, Watchglass } from "./types.js";

export { WatchglassError } from "./errors.js";
export type { WatchglassClient } from "./lazy.js";
export type * from "./types.js";
export { compareResourceVersions } from "./versions.js";

/** Options of a connection whose files are part of the program. */
export interface InlineOptions extends Omit<ConnectOptions, "worker" | "workerURL" | "wasm"> {
  /** Where the engine runs: "dedicated" (Worker), or "inline" (this thread; what Node uses). */
  worker?: "dedicated" | "inline";
}

/** Connects as `connect` of the main entry. The Content-Security-Policy of a page needs `worker-src blob:`. */
export async function connect(url: string | URL, options: InlineOptions = {}): Promise<Watchglass> {
  const worker = options.worker ?? (typeof document === "object" && typeof Worker === "function" ? "dedicated" : "inline");
  return connectTo(url, { ...options, worker, wasm: await bytes(), ...(worker === "dedicated" && { workerURL: workerURL() }) });
}

/** Returns a client that connects as {@link connect} when it is first used. */
export function createClient(url: string | URL, options: InlineOptions = {}): WatchglassClient {
  return lazy(() => connect(url, options));
}

/** Reads a Kubernetes API without a connector, as `connectKubernetes` of the main entry. */
export function connectKubernetes(url: string | URL, options: Omit<InlineOptions, "kubernetes" | "WebSocket"> = {}): Promise<Watchglass> {
  return connect(url, { ...options, kubernetes: true });
}

/** Returns the module, which is stored as the Base64 text of its gzip. */
async function bytes(): Promise<ArrayBuffer> {
  const compressed = Uint8Array.from(atob(module), (char) => char.charCodeAt(0));
  return new Response(new Blob([compressed]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
}

let blob: string | undefined;

const workerURL = () => trusted((blob ??= URL.createObjectURL(new Blob([script], { type: "text/javascript" }))));
