// The entry `watchglass/edge`, for Cloudflare's Durable Objects. The runtime of Durable Objects
// loads WebAssembly modules only by import.
import { WatchglassObject as WithModule } from "./edge/object.js";
import type { EdgeOptions } from "./edge/options.js";
import type { EdgeEnv } from "./edge/entry.js";
import type { ObjectState } from "./edge/platform.js";
import { upstreamOf } from "./edge/regions.js";
import module from "./watchglass.wasm";

export { edgeEntry, type EdgeEnv, type Handler } from "./edge/entry.js";
export { grantHeader, readGrant, type Grant } from "./edge/grant.js";
export type { EdgeOptions, Upstream } from "./edge/options.js";
export type { Fetcher, HibernatableSocket, ObjectState, ObjectStorage, SqlCursor, SqlStorage } from "./edge/platform.js";
export { goProgram, type GoClass } from "./edge/program.js";
export { refuse, status } from "./edge/refusal.js";
export type { Objects } from "./edge/regions.js";

/** The Durable Object with the module of this release. Extend it to pass options. */
export class WatchglassObject extends WithModule {
  constructor(state: ObjectState, env: unknown, options: EdgeOptions = {}) {
    super(state, env, module, options);
  }
}

/**
 * A Durable Object in a region, which reads from the object that the connector feeds and serves
 * nearby readers. {@link edgeEntry} derives the name of the regional object.
 */
export class WatchglassRegion extends WithModule {
  constructor(state: ObjectState, env: EdgeEnv, options: EdgeOptions = {}) {
    super(state, env, module, { ...options, upstream: upstreamOf(state.id.name, env) });
  }
}
