// The entry for pages and programs that read Kubernetes without a connector. It
// has a module of its own, which those with a connector need not load.
import { connect } from "./index.js";
import type { ConnectOptions, Watchglass } from "./types.js";

export * from "./index.js";

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
  return connect(url, { wasm: new URL("./watchglass-direct.wasm", import.meta.url), ...options, kubernetes: true });
}
