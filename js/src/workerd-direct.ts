// The same for Cloudflare's runtime, which loads modules by import alone.
import { connect } from "./index.js";
import type { ConnectOptions, Watchglass } from "./types.js";
import module from "./watchglass-direct.wasm";

export * from "./index.js";

/** Reads a Kubernetes API with an engine in this isolate. Call it inside a handler. */
export function connectKubernetes(url: string | URL, options: Omit<ConnectOptions, "kubernetes" | "WebSocket"> = {}): Promise<Watchglass> {
  return connect(url, { wasm: module, ...options, kubernetes: true, worker: "inline" });
}
