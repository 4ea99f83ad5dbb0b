import { edgeEntry, goProgram, WatchglassObject, WatchglassRegion, type EdgeEnv, type Fetcher, type GoClass } from "watchglass/edge";
import program from "./edge.wasm";
import "../../../build/wasm_exec.js";

/** The Durable Object that stores a cluster, or a part of one. */
export class ClusterObject extends WatchglassObject {}

/** The Durable Object that reads from a {@link ClusterObject}, for nearby readers. */
export class RegionObject extends WatchglassRegion {}

interface Env extends EdgeEnv {
  /** The files of the dashboard. */
  ASSETS: Fetcher;
}

const { Go } = globalThis as unknown as { Go: GoClass };
const api = goProgram<Env>(program, Go);

/** The paths of the Kubernetes API and of the edge, which are not pages. */
const served = /^\/(api|apis|version|healthz|readyz|metrics|clusters)(\/|$)/;

/** The page may run its own scripts, workers and WebAssembly, and connect to its own edge. */
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
