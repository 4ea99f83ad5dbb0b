import type { Client } from "../client.js";
import type { Engine } from "../engine.js";
import type { Dial, StreamEvents } from "../transport.js";
import type { Status } from "../types.js";
import { maxMessage } from "../wire/codec.js";
import { contents } from "./frames.js";
import { covers, type Grant } from "./grant.js";
import type { Metrics } from "./metrics.js";
import type { Readers } from "./readers.js";
import type { StoredCollections } from "./stored-collections.js";
import { socketPair, type HibernatableSocket, type ObjectState } from "./platform.js";
import { refuse, status } from "./refusal.js";
import { closeSocket, expired, protocolBroken, send, setAttachment, tooLong, upgraded, upgradeRefused } from "./sockets.js";

const tag = "feed";

/** The attachment of a connector's socket, which remains while the object is not in memory. */
interface Feed {
  since: number;
  resources: string[];
  /**
   * Identifies the history of the connector's resource versions; empty if the connector
   * did not send it.
   */
  clusterID: string;
  user: string;
  expires: number;
  /** The number of the connector's last session; zero if there was none. */
  session: number;
}

/**
 * The connectors that feed an object. One is active, and the others are on standby.
 *
 * The active connector's socket carries a session of the reader's protocol, in which the engine is
 * the reader. The object sends `begin N`, the connector responds `begun N`, and binary messages
 * after that belong to session N. An object that hibernated begins a new session on the same
 * socket. The object then drops messages of the old session.
 */
export class Feeds {
  readonly #state: ObjectState;
  #engine!: Engine;
  #client!: Client;
  #collections!: StoredCollections;
  #readers!: Readers;
  readonly #metrics: Metrics;
  /** The resources of the session's subscriptions, by subscription number. */
  readonly #subscribed = new Map<number, string>();
  /** The stream that the engine has opened. It may be set before a connector is active. */
  #stream: StreamEvents | undefined;
  #active: HibernatableSocket | undefined;
  #session = 0;
  #begun = false;
  /** Why the last connector was rejected, for the status endpoint. */
  #refused: Status | undefined;

  constructor(state: ObjectState, metrics: Metrics) {
    this.#state = state;
    this.#metrics = metrics;
  }

  /** Continues with the connectors that are still connected. */
  start(engine: Engine, client: Client, collections: StoredCollections, readers: Readers): void {
    this.#engine = engine;
    this.#client = client;
    this.#collections = collections;
    this.#readers = readers;
    const [socket] = this.#sockets();
    if (socket) collections.hold(feedOf(socket).resources);
    if (this.#stream) this.#begin();
  }

  /**
   * Detaches from the connectors without closing them, so that the next instance of the module can
   * continue with them.
   */
  leave(): void {
    this.#stream = undefined;
    this.#active = undefined;
  }

  get count(): number {
    return this.#sockets().length;
  }

  /** The time at which the first grant expires; zero for never. */
  get expiry(): number {
    const times = this.#sockets().map((socket) => feedOf(socket).expires * 1000);
    return times.length > 0 ? Math.min(...times) : 0;
  }

  /** Opens the engine's stream on a connected connector, or else on the next one that connects. */
  readonly dial: Dial = (_url, events) => {
    this.#stream = events;
    if (this.#collections) this.#begin();
    return {
      send: (message) => this.#active && send(this.#active, message),
      close: (message) => {
        // The engine closes the stream of a connector that violates the protocol or is silent. The
        // connector reconnects, or another takes over.
        this.#stream = undefined;
        this.#drop(protocolBroken(message));
      },
    };
  };

  accept(request: Request, grant: Grant): Response {
    const refused = upgradeRefused(request);
    if (refused) return refused;
    const { searchParams } = new URL(request.url);
    const resources = (searchParams.get("resources") ?? "").split(",").filter(Boolean).sort();
    const clusterID = searchParams.get("clusterID") ?? "";
    const why = this.#mayNot(grant, resources) ?? this.#conflict(resources, clusterID, searchParams.get("replace") === "true");
    if (why) return refuse(why);
    const [client, server] = socketPair();
    const feed: Feed = { since: Date.now(), resources, clusterID, user: grant.user, expires: grant.expires, session: 0 };
    const refusal = setAttachment(server, feed);
    if (refusal) return refuse(refusal);
    this.#state.acceptWebSocket(server, [tag]);
    this.#collections.hold(resources);
    if (this.#stream && !this.#active) this.#begin();
    this.#client.reconnect();
    return upgraded(client, request);
  }

  message(socket: HibernatableSocket, message: string | Uint8Array): void {
    if (typeof message === "string") return this.#handleText(socket, message);
    if (socket !== this.#active || !this.#begun) return; // a message of a previous session
    if (message.length > maxMessage) return this.#lost(tooLong(message.length, maxMessage));
    const { foreign, changes } = this.#examine(socket, message);
    if (foreign) return this.#lost(foreign);
    const pass = (): void => {
      this.#stream?.data(message);
      this.#engine.flush();
    };
    if (changes) this.#readers.deliver(pass);
    else pass();
  }

  closed(socket: HibernatableSocket, reason: string): void {
    closeSocket(socket, status(503, "ServiceUnavailable", "goodbye"));
    if (socket === this.#active) this.#lost(status(503, "ServiceUnavailable", `the connector has disconnected: ${reason}`));
  }

  expire(now: number): void {
    for (const socket of this.#sockets()) {
      if (feedOf(socket).expires * 1000 > now) continue;
      if (socket === this.#active) this.#lost(expired());
      else closeSocket(socket, expired());
    }
  }

  report(): unknown {
    const connected = this.#sockets().map((socket) => {
      const { since, clusterID, user } = feedOf(socket);
      return { since, clusterID, user, active: socket === this.#active && this.#begun };
    });
    return { connected, ...(this.#refused && { refused: this.#refused }) };
  }

  #mayNot(grant: Grant, resources: readonly string[]): Status | undefined {
    const who = grant.user || "this token";
    if (!grant.feed) return status(403, "Forbidden", `${who} may read from this object, but not feed it`);
    if (resources.length === 0) return status(400, "BadRequest", "the parameter resources is missing, as in /feed?resources=v1/pods");
    const foreign = resources.find((resource) => !covers(grant, resource));
    return foreign === undefined ? undefined : status(403, "Forbidden", `${who} may not feed ${foreign} in all namespaces`);
  }

  /**
   * Returns why a connector conflicts with the other connectors or with the held data; undefined if
   * there is no conflict.
   */
  #conflict(resources: readonly string[], clusterID: string, replace: boolean): Status | undefined {
    const others = this.#sockets().map(feedOf);
    const different = others.find((other) => other.resources.join() !== resources.join());
    if (different) return this.#refuse(`all connectors must feed the same resources: another one feeds ${different.resources}, and this one ${resources}`);
    const rival = others.find((other) => other.clusterID && clusterID && other.clusterID !== clusterID);
    if (rival) return this.#refuse(`another connector feeds cluster ${rival.clusterID}, and this one ${clusterID}`);
    for (const resource of resources) {
      const held = clusterOf(this.#collections.clusterID(resource));
      if (!held || !clusterID || held === clusterID) continue;
      if (!replace) return this.#refuse(`this object has the ${resource} of cluster ${held}, and the connector feeds cluster ${clusterID}`);
      this.#collections.forget(resource);
    }
    return undefined;
  }

  /**
   * Counts the bytes of a message. Returns whether the message contains changes, and an error if it
   * contains a resource of a different cluster.
   */
  #examine(socket: HibernatableSocket, message: Uint8Array): { foreign?: Status; changes: boolean } {
    let changes = false;
    try {
      for (const content of contents(message)) {
        if ("bytes" in content) {
          changes ||= content.changes;
          this.#count(content.subscription, content.bytes);
          continue;
        }
        const { subscription, resource, clusterID } = content;
        const cluster = clusterOf(clusterID);
        const expected = feedOf(socket).clusterID || clusterOf(this.#collections.clusterID(resource));
        if (expected && cluster !== expected) return { foreign: this.#refuse(`${resource} is from cluster ${cluster}, expected ${expected}`), changes };
        this.#subscribed.set(subscription, resource);
      }
    } catch {
      // The message is malformed, and the engine reports how.
    }
    return { changes };
  }

  /**
   * Counts bytes in the metrics of a resource, if the object holds it. A connector therefore cannot
   * add other resources to the metrics.
   */
  #count(subscription: number, bytes: number): void {
    const resource = this.#subscribed.get(subscription);
    if (resource !== undefined && this.#collections.resources.includes(resource)) this.#metrics.resource(resource).bytes += bytes;
  }

  #refuse(message: string): Status {
    this.#refused = status(409, "Conflict", message);
    return this.#refused;
  }

  /** Handles a connector's message about sessions. */
  #handleText(socket: HibernatableSocket, text: string): void {
    const [, verb, number, reason] = /^(begun|ended) (\d+) ?(.*)$/s.exec(text) ?? [];
    if (!verb) {
      const why = protocolBroken(`expected "begun N" or "ended N", not ${JSON.stringify(text.slice(0, 40))}`);
      if (socket === this.#active) this.#lost(why);
      else closeSocket(socket, why);
      return;
    }
    if (socket !== this.#active || Number(number) !== this.#session) return;
    if (verb === "ended") return this.#lost(status(503, "ServiceUnavailable", `the connector ended the session: ${reason}`));
    this.#begun = true;
    this.#stream?.opened();
    this.#engine.flush();
  }

  #begin(): void {
    const [socket] = this.#sockets();
    if (!socket) return;
    // The new session number is greater than all previous ones, even after the object has
    // hibernated.
    this.#session = Math.max(Date.now(), feedOf(socket).session + 1, this.#session + 1);
    this.#active = socket;
    this.#begun = false;
    this.#subscribed.clear();
    socket.serializeAttachment({ ...feedOf(socket), session: this.#session });
    send(socket, `begin ${this.#session}`);
  }

  /** Ends the stream and closes the active connector. A standby, if any, takes over immediately. */
  #lost(why: Status): void {
    const stream = this.#stream;
    this.#stream = undefined;
    this.#drop(why);
    stream?.closed(why.message);
    this.#engine.flush();
    if (this.count > 0) this.#client.reconnect();
  }

  #drop(why: Status): void {
    const socket = this.#active;
    this.#active = undefined;
    this.#begun = false;
    if (socket) closeSocket(socket, why);
  }

  /**
   * Returns the open sockets. The one with the latest session comes first. The others follow, the
   * oldest first.
   */
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

/**
 * Returns the part of a cluster ID that identifies the cluster. It stays the same when the history
 * restarts, such as after a restore from a backup.
 */
function clusterOf(clusterID: string): string {
  return clusterID.replace(/ restored at \d+$/, "");
}
