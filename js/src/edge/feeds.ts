import type { Client } from "../client.js";
import type { Engine } from "../engine.js";
import { closeReason, type Dial, type StreamEvents } from "../transport.js";
import { covers, type Grant } from "./grant.js";
import type { Holdings } from "./holdings.js";
import { socketPair, type HibernatableSocket, type ObjectState } from "./platform.js";
import { refuse, status } from "./refusal.js";
import { upgraded, upgradeRefused } from "./upgrade.js";

const tag = "feed";

/** What stays with a connector's socket while the object is not in memory. */
interface Feed {
  since: number;
  resources: string[];
  /** Names the history that the connector's versions belong to; empty when it did not say. */
  source: string;
  user: string;
  expires: number;
  /** The number of the session that runs on it; zero while it stands by. */
  session: number;
}

/**
 * The connectors that feed an object. One is active, the others stand by.
 *
 * A session of the reader's protocol, with the engine as the reader, runs on the
 * active one's socket: the object says `begin N`, the connector answers
 * `begun N`, and what is binary from then on belongs to session N. An object
 * that was out of memory begins a new one on the same socket, and so what the old
 * one still sends is nobody's.
 */
export class Feeds {
  readonly #state: ObjectState;
  #engine!: Engine;
  #client!: Client;
  #holdings!: Holdings;
  /** The engine's stream, from the time it is asked for. */
  #stream: StreamEvents | undefined;
  #active: HibernatableSocket | undefined;
  #session = 0;
  #begun = false;

  constructor(state: ObjectState) {
    this.#state = state;
  }

  /** Goes on with the connectors that have stayed connected. */
  start(engine: Engine, client: Client, holdings: Holdings): void {
    this.#engine = engine;
    this.#client = client;
    this.#holdings = holdings;
    const feed = this.#sockets()[0];
    if (feed) holdings.hold(feedOf(feed).resources);
  }

  /** Opens the engine's stream: on the active connector, or on the first that comes. */
  readonly dial: Dial = (_url, events) => {
    this.#stream = events;
    this.#begin();
    return {
      send: (message) => this.#active?.send(message),
      close: (message) => {
        // The engine gives up what breaks the protocol or says nothing. The connector connects again, or another takes over.
        this.#stream = undefined;
        this.#drop(1008, message);
      },
    };
  };

  has(socket: HibernatableSocket): boolean {
    return this.#sockets().includes(socket);
  }

  accept(request: Request, grant: Grant): Response {
    const refused = upgradeRefused(request);
    if (refused) return refused;
    const { searchParams } = new URL(request.url);
    const resources = (searchParams.get("resources") ?? "").split(",").filter(Boolean);
    if (!grant.feed) return refuse(status(403, "Forbidden", `${grant.user || "this token"} may read here, and not bring data`));
    if (resources.length === 0) return refuse(status(400, "BadRequest", "say what is brought: /feed?resources=v1/pods"));
    for (const resource of resources) {
      if (!covers(grant, resource)) return refuse(status(403, "Forbidden", `${grant.user || "this token"} may not bring ${resource}`));
    }
    const [client, server] = socketPair();
    this.#state.acceptWebSocket(server, [tag]);
    const feed: Feed = { since: Date.now(), resources, source: searchParams.get("source") ?? "", user: grant.user, expires: grant.expires, session: 0 };
    server.serializeAttachment(feed);
    this.#holdings.hold(resources);
    if (this.#stream) this.#begin();
    else this.#client.reconnect();
    return upgraded(client);
  }

  message(socket: HibernatableSocket, message: string | Uint8Array): void {
    if (typeof message === "string") return this.#told(socket, message);
    if (socket !== this.#active || !this.#begun) return; // of a session that is over
    this.#stream?.data(message);
    this.#engine.flush();
  }

  closed(socket: HibernatableSocket, reason: string): void {
    if (socket === this.#active) this.#lost(`the connector is gone: ${reason}`);
  }

  report(): unknown {
    return this.#sockets().map((socket) => {
      const { since, source, user } = feedOf(socket);
      return { since, source, user, active: socket === this.#active && this.#begun };
    });
  }

  /** A connector's word about sessions. */
  #told(socket: HibernatableSocket, text: string): void {
    const [, verb, number, reason] = /^(begun|ended) (\d+) ?(.*)$/s.exec(text) ?? [];
    if (!verb) return closeSocket(socket, 1002, `expected "begun N" or "ended N", not ${JSON.stringify(text.slice(0, 40))}`);
    if (socket !== this.#active || Number(number) !== this.#session) return;
    if (verb === "ended") return this.#lost(`the connector ended the session: ${reason}`);
    this.#begun = true;
    this.#stream?.opened();
    this.#engine.flush();
  }

  #begin(): void {
    const [socket] = this.#sockets();
    if (!socket || !this.#stream) return;
    // Above every number used before, also by an object that has forgotten.
    this.#session = Math.max(Date.now(), this.#session + 1);
    this.#active = socket;
    this.#begun = false;
    socket.serializeAttachment({ ...feedOf(socket), session: this.#session });
    socket.send(`begin ${this.#session}`);
  }

  /** The engine's stream has ended; the next connector takes over at once. */
  #lost(reason: string): void {
    const stream = this.#stream;
    this.#stream = undefined;
    this.#drop(1001, reason);
    stream?.closed(reason);
    this.#engine.flush();
    if (this.#sockets().length > 0) this.#client.reconnect();
  }

  #drop(code: number, reason: string): void {
    const socket = this.#active;
    this.#active = undefined;
    this.#begun = false;
    if (socket) closeSocket(socket, code, reason);
  }

  /** Those that are open, the one with a session first and then by age. */
  #sockets(): HibernatableSocket[] {
    return this.#state
      .getWebSockets(tag)
      .filter((socket) => socket.readyState === 1)
      .sort((a, b) => feedOf(b).session - feedOf(a).session || feedOf(a).since - feedOf(b).since);
  }
}

function feedOf(socket: HibernatableSocket): Feed {
  return socket.deserializeAttachment() as Feed;
}

function closeSocket(socket: HibernatableSocket, code: number, reason: string): void {
  try {
    socket.close(code, closeReason(reason));
  } catch {
    // It is closed already.
  }
}
