// The main entry for workerd, Cloudflare's runtime, which loads WebAssembly modules only by import.
import { connect as connectWith } from "./index.js";
import type { ConnectOptions, Watchglass } from "./types.js";
import module from "./watchglass.wasm";

export * from "./index.js";

/**
 * Connects like `connect` of the main entry, with an engine in this isolate. Call it inside a
 * handler, because the runtime provides randomness only there.
 */
export function connect(url: string | URL, options: ConnectOptions = {}): Promise<Watchglass> {
  return connectWith(url, { wasm: module, ...options, worker: "inline" });
}

/** Reads a Kubernetes API with an engine in this isolate. Call it inside a handler. */
export function connectKubernetes(url: string | URL, options: Omit<ConnectOptions, "kubernetes" | "WebSocket"> = {}): Promise<Watchglass> {
  return connect(url, { ...options, kubernetes: true });
}
