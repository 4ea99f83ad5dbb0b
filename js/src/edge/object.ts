import { Client } from "../client.js";
import { Engine } from "../engine.js";
import { openGuest } from "../guest.js";
import type { Collection } from "../types.js";
import { Alarm } from "./alarm.js";
import { Backend, backendRoot } from "./backend.js";
import { Feeds } from "./feeds.js";
import { readGrant, type Grant } from "./grant.js";
import { Holdings } from "./holdings.js";
import { withDefaults, type EdgeOptions, type Settings } from "./options.js";
import type { HibernatableSocket, ObjectState } from "./platform.js";
import { Readers } from "./readers.js";
import { refusal, refuse, status } from "./refusal.js";

/** Sent to connectors, for their logs. */
const clientName = "watchglass-edge/0.1.0";

/** Everything that an object has while it is in memory. */
interface Parts {
  engine: Engine;
  client: Client;
  feeds: Feeds;
  holdings: Holdings;
  readers: Readers;
  backend: Backend;
}

/**
 * A Durable Object that holds resources of one cluster and serves them to
 * readers. It takes requests that carry a {@link Grant}:
 *
 * - `/feed?resources=v1/pods,…&source=ID`: the WebSocket of a connector,
 * - `/watch`: the WebSocket of a reader,
 * - `/status`: how it is, as JSON,
 * - `/backend/…`: what the HTTP face of the edge asks, see {@link Backend}.
 *
 * Its guest, and all that it remembers, goes when the runtime takes the object
 * out of memory; the sockets stay, and the next message or alarm finds it as it
 * was.
 */
export class WatchglassObject {
  readonly #state: ObjectState;
  readonly #settings: Settings;
  readonly #alarm: Alarm;
  #parts!: Parts;

  constructor(state: ObjectState, _env: unknown, module: WebAssembly.Module, options: EdgeOptions = {}) {
    this.#state = state;
    this.#settings = withDefaults(options);
    this.#alarm = new Alarm(state.storage, () => this.#tick());
    void state.blockConcurrencyWhile(() => this.#start(module));
  }

  async fetch(request: Request): Promise<Response> {
    const grant = readGrant(request.headers, Date.now());
    if ("code" in grant) return refuse(grant);
    try {
      return await this.#route(request, grant);
    } catch (error) {
      return refusal(error);
    }
  }

  webSocketMessage(socket: HibernatableSocket, message: string | ArrayBuffer): void {
    const { feeds, readers } = this.#parts;
    const heard = typeof message === "string" ? message : new Uint8Array(message);
    if (feeds.has(socket)) feeds.message(socket, heard);
    else readers.message(socket, heard);
  }

  webSocketClose(socket: HibernatableSocket, code: number, reason: string): void {
    const { feeds, readers } = this.#parts;
    if (feeds.has(socket)) feeds.closed(socket, reason || `WebSocket code ${code}`);
    else readers.closed(socket);
  }

  webSocketError(socket: HibernatableSocket, error: unknown): void {
    this.webSocketClose(socket, 1006, error instanceof Error ? error.message : "");
  }

  alarm(): void {
    this.#alarm.fired();
  }

  /** A resource that the object holds, for endpoints of its own. */
  protected collection(resource: string): Collection | undefined {
    return this.#parts.holdings.collection(resource);
  }

  async #start(module: WebAssembly.Module): Promise<void> {
    const settings = this.#settings;
    const feeds = new Feeds(this.#state);
    const engine = await Engine.start({
      url: "feed",
      dial: feeds.dial,
      guest: () => {
        const seed = crypto.getRandomValues(new BigUint64Array(1))[0]!;
        return openGuest(module, { type: "Config", seed, client: clientName, maxBytes: settings.memoryBytes, maxHistory: 0, credit: 0 });
      },
      wake: (millis) => this.#alarm.at(millis),
    });
    const client = await Client.attach((events) => engine.attach(events), async () => "");
    const holdings = new Holdings(client);
    const readers = new Readers(this.#state, engine, settings);
    const backend = new Backend(engine, () => holdings.resources);
    this.#parts = { engine, client, feeds, holdings, readers, backend };
    feeds.start(engine, client, holdings);
  }

  async #route(request: Request, grant: Grant): Promise<Response> {
    const url = new URL(request.url);
    const { pathname } = url;
    if (pathname.startsWith(backendRoot)) return this.#parts.backend.answer(url);
    switch (pathname) {
      case "/feed":
        return this.#parts.feeds.accept(request, grant);
      case "/watch":
        return this.#parts.readers.accept(request, grant);
      case "/status":
        return Response.json(this.#report());
    }
    return refuse(status(404, "NotFound", `there is nothing at ${pathname}; there are /feed, /watch and /status`));
  }

  #tick(): void {
    this.#parts.engine.tick();
  }

  #report(): unknown {
    const { feeds, holdings, readers } = this.#parts;
    return { feeds: feeds.report(), collections: holdings.report(), readers: readers.count };
  }
}
