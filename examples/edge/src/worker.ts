import { edgeEntry, goProgram, WatchglassObject, WatchglassRegion, type EdgeEnv, type Fetcher, type GoClass } from "watchglass/edge";
import program from "./edge.wasm";
import "../../../build/wasm_exec.js";

/** The Durable Object that stores a cluster, or one shard of it. */
export class ClusterObject extends WatchglassObject {}

/** The Durable Object that reads from a {@link ClusterObject} and serves readers in its region. */
export class RegionObject extends WatchglassRegion {}

interface Env extends EdgeEnv {
  /** The files of the dashboard. */
  ASSETS: Fetcher;
}

const { Go } = globalThis as unknown as { Go: GoClass };
const api = goProgram<Env>(program, Go);

/** The paths that the Kubernetes API and the edge serve. All other paths are files of the page. */
const served = /^\/(api|apis|version|healthz|readyz|metrics|clusters)(\/|$)/;

/**
 * Headers that restrict the page to its own scripts, workers and WebAssembly, and to connections to
 * its own edge.
 */
const pageHeaders = {
  "Content-Security-Policy":
    "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self' blob:; style-src 'self'; " +
    "img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "Referrer-Policy": "no-referrer",
};

async function page(request: Request, env: Env): Promise<Response> {
  const file = await env.ASSETS.fetch(request);
  const headers = new Headers(file.headers);
  for (const [name, value] of Object.entries(pageHeaders)) headers.set(name, value);
  return new Response(file.body, { status: file.status, headers });
}

export default edgeEntry<Env>((request, env, context) =>
  served.test(new URL(request.url).pathname) ? api(request, env, context) : page(request, env),
);
