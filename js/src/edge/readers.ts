import type { Engine } from "../engine.js";
import { idsPerMember, type Membership } from "../member.js";
import type { Status } from "../types.js";
import { Writer, type Frame } from "../wire/codec.js";
import { writeCommand, type Command } from "../wire/driver-commands.js";
import { readOutput } from "../wire/driver-outputs.js";
import { Backlog, type Account, type Ping } from "./backlog.js";
import { reject } from "./reject.js";
import { countFrames, endings, pongs, refuseSubscriptions, savedSubscriptions, writePing, type Subscribed, type SubscriptionChange } from "./frames.js";
import type { Counters } from "./counters.js";
import { covers, scopes, type Grant } from "./grant.js";
import { count, type Metrics } from "./metrics.js";
import type { StoredCollections } from "./stored-collections.js";
import type { Settings } from "./options.js";
import { TokenBucket } from "./token-bucket.js";
import { inShard } from "./clusters.js";
import { socketPair, type HibernatableSocket, type ObjectState } from "./platform.js";
import { refuse, status } from "./refusal.js";
import { closeSocket, expired, protocolBroken, send, setAttachment, tooLong, upgraded, upgradeRefused } from "./sockets.js";
import { writeSubscriptionStatus } from "../wire/status.js";

const tag = "reader";

/**
 * The maximum number of bytes that a reader may leave unread. A reader with more has stopped
 * reading, or has too many subscriptions.
 */
const roomBytes = 16 << 20;

/**
 * The maximum size of a reader's message, in bytes. A connector has the same limit. The module's
 * memory grows with the largest message and never shrinks.
 */
const maxMessage = 1 << 20;

/** The maximum number of frames in a reader's message. A connector has the same limit. */
const maxFrames = 1024;

/** The time limit for a new reader's Hello, in milliseconds. A connector has the same limit. */
const helloMillis = 10_000;

/** The state that is attached to a reader's socket while the object hibernates. */
interface Attachment {
  /** The reader's number within this object. */
  serial: number;
  grant: Grant;
  /** The shard of the namespaces that the object stores; undefined for all. */
  shard?: string;
  /** Whether the reader requested the complete shard, so its subscriptions need no namespace. */
  whole?: boolean;
  /** The reader's position in the engine; undefined if unknown. */
  saved?: Uint8Array;
  /** This and the following members are described at {@link Reader}. */
  sent?: number;
  stalledAt?: number;
  silentSince?: number;
  unacknowledged?: number;
  ping?: Ping | undefined;
}

interface Reader extends Account {
  readonly id: number;
  readonly serial: number;
  readonly socket: HibernatableSocket;
  readonly grant: Grant;
  readonly shard: string | undefined;
  readonly whole: boolean;
  /** Bytes sent to the reader since its last message. */
  sent: number;
  /** When data began to wait for the reader's credit or for room; zero if none waits. */
  stalledAt: number;
  /** When the reader connected; zero once the engine has answered its Hello. */
  silentSince: number;
  /** Whether the reader sent or received messages since its position was stored. */
  active: boolean;
  /** The resources of the reader's subscriptions, by subscription number. */
  readonly subscriptions: Map<number, string>;
  /** When the oldest change that waits for this reader was received; zero if none waits. */
  received: number;
  readonly bucket: TokenBucket;
}

/** The sockets of the readers of an object. The engine serves the readers. */
export class Readers {
  readonly #state: ObjectState;
  readonly #settings: Settings;
  readonly #collections: StoredCollections;
  readonly #counters: Counters;
  readonly #metrics: Metrics;
  readonly #membership: Membership;
  readonly #writer = new Writer();
  readonly #byId = new Map<number, Reader>();
  readonly #bySocket = new Map<HibernatableSocket, Reader>();
  /** The readers with a deadline: those that are stalled or have not sent a Hello. */
  readonly #withDeadline = new Set<Reader>();
  readonly #backlog = new Backlog<Reader>();
  #lastSerial = 0;
  /** The time at which the changes that are being delivered were received; zero if there are none. */
  #received = 0;

  constructor(state: ObjectState, engine: Engine, settings: Settings, collections: StoredCollections, counters: Counters, metrics: Metrics) {
    this.#counters = counters;
    this.#metrics = metrics;
    this.#state = state;
    this.#settings = settings;
    this.#collections = collections;
    // The cause is logged and not sent, because it may name objects that readers may not read.
    const restart = (cause: string): void => {
      console.error(`watchglass: the readers are disconnected: ${cause}`);
      this.endAll(status(503, "ServiceUnavailable", "connect again: the object restarts"));
    };
    this.#membership = engine.attach({
      frames: () => {},
      frame: (frame) => this.#handleOutput(frame),
      restarted: restart,
      failed: restart,
      token: async () => "",
    });
  }

  /** Continues with connected readers, and disconnects those whose positions are unknown. */
  start(): void {
    for (const socket of this.#state.getWebSockets(tag)) {
      if (socket.readyState !== 1) continue;
      const attachment = socket.deserializeAttachment() as Attachment;
      if (attachment.saved) this.#attach(socket, attachment);
      else closeSocket(socket, status(503, "ServiceUnavailable", "connect again: the object restarted, and this reader's position was not stored"));
    }
  }

  get count(): number {
    return this.#bySocket.size;
  }

  /** The time at which the first grant expires; zero for never. */
  get expiry(): number {
    let first = 0;
    for (const { grant } of this.#bySocket.values()) if (first === 0 || grant.expires < first) first = grant.expires;
    return first * 1000;
  }

  /** The bytes that were sent and not acknowledged. */
  get unacknowledged(): number {
    return this.#backlog.bytes;
  }

  /** The number of subscriptions to each resource, and the number of readers with at least one. */
  get subscriptions(): Record<string, { readers: number; subscriptions: number }> {
    const all: Record<string, { readers: number; subscriptions: number }> = {};
    for (const reader of this.#bySocket.values()) {
      const resources = [...reader.subscriptions.values()];
      for (const resource of resources) (all[resource] ??= { readers: 0, subscriptions: 0 }).subscriptions++;
      for (const resource of new Set(resources)) all[resource]!.readers++;
    }
    return all;
  }

  /**
   * Passes changes from the connector to the engine, and measures how long their delivery to
   * readers takes. The platform's clock does not advance during the call, so an immediate delivery
   * counts as zero. Only deliveries to stalled readers take measurable time.
   */
  deliver(pass: () => void): void {
    const now = Date.now();
    this.#received = now;
    try {
      pass();
    } finally {
      this.#received = 0;
    }
    for (const reader of this.#withDeadline) if (reader.stalledAt !== 0) reader.received ||= now;
  }

  /** Pings readers so that the total of unread bytes stays within `room`. */
  fit(room: number, now: number): void {
    this.#backlog.room = room;
    for (const [reader, mark] of this.#backlog.pings(now)) {
      const w = new Writer();
      writePing(w, mark);
      reader.active = true;
      this.#send(reader, w.take());
    }
  }

  /** The first deadline of a silent, stalled or pinged reader; zero for none. */
  get deadline(): number {
    let first = this.#backlog.due;
    for (const reader of this.#withDeadline) {
      const until = this.#until(reader);
      if (first === 0 || until < first) first = until;
    }
    return first;
  }

  has(socket: HibernatableSocket): boolean {
    return this.#bySocket.has(socket);
  }

  accept(request: Request, grant: Grant): Response {
    const refused = upgradeRefused(request);
    if (refused) return refused;
    this.#metrics.connections++;
    if (this.count >= this.#settings.maxReaders) {
      this.#metrics.refused++;
      count(this.#metrics.refusals, "max-readers");
      return reject(request, full(this.#settings.maxReaders));
    }
    const [client, server] = socketPair();
    const query = new URL(request.url).searchParams;
    const shard = query.get("shard");
    const attachment: Attachment = { serial: this.#newSerial(), grant, ...(shard && { shard, whole: !query.get("namespace") }), silentSince: Date.now() };
    const refusal = setAttachment(server, attachment);
    if (refusal) return refuse(refusal);
    this.#state.acceptWebSocket(server, [tag]);
    this.#attach(server, attachment);
    return upgraded(client, request);
  }

  message(socket: HibernatableSocket, message: string | Uint8Array): void {
    const reader = this.#bySocket.get(socket)!;
    if (typeof message === "string") return this.#end(reader, protocolBroken("expected binary messages, not text"));
    if (message.length > maxMessage) {
      count(this.#metrics.refusals, "max-message-bytes");
      return this.#end(reader, tooLong(message.length, maxMessage));
    }
    const { frames, subscriptions, changes } = countFrames(message);
    if (frames > maxFrames) {
      count(this.#metrics.refusals, "max-message-frames");
      return this.#end(reader, tooManyFrames());
    }
    if (!reader.bucket.allows(message.length, subscriptions, Date.now())) {
      this.#counters.add("readersRateLimited");
      return this.#end(reader, tooFast(this.#settings.messagesPerSecond));
    }
    if (reader.ping) for (const mark of pongs(message)) this.#backlog.pong(reader, mark);
    // Unless a Pong is due, a message counts as proof that the reader has read everything that was
    // sent before. The object then grants these bytes as room again.
    const { id } = reader;
    const acknowledged = reader.ping ? 0 : reader.sent;
    reader.sent -= acknowledged;
    reader.active = true;
    note(reader, changes);
    this.#command({ type: "GrantReader", reader: id, bytes: acknowledged }, { type: "ReaderMessage", reader: id, data: this.#answerable(reader, message) });
  }

  closed(socket: HibernatableSocket): void {
    const reader = this.#bySocket.get(socket);
    if (!reader) return;
    this.#command({ type: "DetachReader", reader: reader.id });
    this.#close(reader, status(503, "ServiceUnavailable", "goodbye"));
  }

  expire(now: number): void {
    for (const reader of [...this.#bySocket.values()]) {
      if (reader.grant.expires * 1000 <= now) this.#end(reader, expired());
    }
    for (const reader of [...this.#withDeadline]) {
      if (this.#until(reader) > now) continue;
      if (reader.silentSince !== 0) {
        count(this.#metrics.refusals, "hello-timeout");
        this.#end(reader, silent());
        continue;
      }
      this.#counters.add("readersStalled");
      this.#end(reader, tooSlow(this.#settings.stallMillis));
    }
    for (const reader of this.#backlog.overdue(now)) {
      this.#counters.add("readersStalled");
      this.#end(reader, behind(reader));
    }
  }

  /** Disconnects all readers without sending commands to the engine. */
  endAll(why: Status): void {
    for (const reader of [...this.#bySocket.values()]) this.#close(reader, why);
  }

  /** Requests the position of each active reader, to attach it to the reader's socket. */
  save(): void {
    for (const reader of this.#bySocket.values()) {
      if (!reader.active) continue;
      reader.active = false;
      writeCommand(this.#writer, { type: "SaveReader", reader: reader.id });
    }
    if (this.#writer.length > 0) this.#membership.send(this.#writer.take());
  }

  #attach(socket: HibernatableSocket, { serial, grant, shard, whole = false, saved, sent = 0, stalledAt = 0, silentSince = 0, unacknowledged = 0, ping }: Attachment): void {
    const id = this.#id(serial);
    const bucket = new TokenBucket(this.#settings.messagesPerSecond, Date.now());
    const reader: Reader = { id, serial, socket, grant, shard, whole, sent, stalledAt, silentSince, unacknowledged, ping, bucket, active: saved === undefined, subscriptions: new Map(), received: 0 };
    if (saved) note(reader, savedSubscriptions(saved));
    this.#backlog.add(reader);
    this.#byId.set(id, reader);
    this.#bySocket.set(socket, reader);
    this.#await(reader);
    this.#command({
      type: "AttachReader",
      reader: id,
      allowed: scopes(grant),
      progressMillis: this.#settings.progressMillis,
      maxSubscriptions: 0,
      room: Math.max(0, roomBytes - sent),
      saved: saved ?? new Uint8Array(),
      stalled: stalledAt !== 0,
    });
  }

  /** Handles an output frame of the engine for a reader. */
  #handleOutput(frame: Frame): void {
    const output = readOutput(frame);
    if (!output || !("reader" in output)) return;
    const reader = this.#byId.get(output.reader);
    if (!reader) return;
    switch (output.type) {
      case "SendReader":
        reader.sent += output.data.length;
        reader.active = true;
        // The output is the response to the Hello, or follows that response.
        if (reader.silentSince !== 0) this.#await(reader, { silentSince: 0 });
        this.#send(reader, output.data);
        this.#delivered(reader);
        return this.#backlog.sent(reader, output.data.length) ? this.#endSlowest() : undefined;
      case "CloseReader":
        return this.#close(reader, output.status ?? protocolBroken("no reason was given"));
      case "SavedReader":
        return saveReader(reader, output.data.slice());
      case "ReaderStalled":
        return this.#stall(reader, output.stalled);
    }
  }

  /** Sends a message to a reader, and counts the message and the subscriptions that it ends. */
  #send(reader: Reader, message: Uint8Array): void {
    send(reader.socket, message);
    this.#metrics.messages++;
    this.#metrics.bytes += message.length;
    for (const { subscription, code, cause } of endings(message)) {
      if (cause) count(this.#metrics.refusals, cause);
      if (subscription === 0) continue;
      reader.subscriptions.delete(subscription);
      count(this.#metrics.subscriptionErrors, code);
    }
  }

  /** Measures the delivery of a message that has been sent, if the message contains changes. */
  #delivered(reader: Reader): void {
    const received = reader.received || this.#received;
    reader.received = 0;
    if (received !== 0) this.#metrics.delivery.since(received);
  }

  /**
   * Records whether a reader is stalled. A stalled reader occupies only its socket, but has a
   * deadline.
   */
  #stall(reader: Reader, stalled: boolean): void {
    reader.active = true;
    this.#await(reader, { stalledAt: stalled ? Date.now() : 0 });
  }

  #await(reader: Reader, since: { stalledAt?: number; silentSince?: number } = {}): void {
    Object.assign(reader, since);
    if (reader.stalledAt !== 0 || reader.silentSince !== 0) this.#withDeadline.add(reader);
    else this.#withDeadline.delete(reader);
  }

  /** Disconnects the slowest reader, to save memory. */
  #endSlowest(): void {
    const reader = this.#backlog.slowest;
    if (!reader) return;
    this.#counters.add("readersStalled");
    closeReader(reader.socket, behind(reader));
    this.#close(reader, behind(reader));
    // Send the command after the engine's output has been handled.
    queueMicrotask(() => this.#command({ type: "DetachReader", reader: reader.id }));
  }

  /** Returns the deadline of a reader. */
  #until({ silentSince, stalledAt }: Reader): number {
    return silentSince !== 0 ? silentSince + helloMillis : stalledAt + this.#settings.stallMillis;
  }

  /**
   * Returns a reader's message without its subscriptions to data that the object does not have or
   * cannot hold. Refuses these subscriptions.
   */
  #answerable(reader: Reader, message: Uint8Array): Uint8Array {
    if (!this.#collections.scarce && !reader.shard) return message;
    try {
      const { left, answers } = refuseSubscriptions(message, (subscribed) => {
        const { resource, namespace, metadataOnly } = subscribed;
        // The engine refuses subscriptions without permission.
        if (!covers(reader.grant, resource, namespace)) return undefined;
        return misplaced(reader, subscribed) ?? this.#collections.refused(resource, metadataOnly);
      });
      if (answers.length > 0) this.#send(reader, answers);
      return left;
    } catch {
      return message; // the message is malformed, and the engine reports how
    }
  }

  #command(...commands: Command[]): void {
    for (const command of commands) writeCommand(this.#writer, command);
    this.#membership.send(this.#writer.take());
  }

  #id(serial: number): number {
    return this.#membership.member * idsPerMember + serial;
  }

  #newSerial(): number {
    do {
      this.#lastSerial = (this.#lastSerial + 1) % idsPerMember;
    } while (this.#byId.has(this.#id(this.#lastSerial)));
    return this.#lastSerial;
  }

  /** Disconnects a reader on the object's initiative. */
  #end(reader: Reader, why: Status): void {
    this.#command({ type: "DetachReader", reader: reader.id });
    closeReader(reader.socket, why);
    this.#close(reader, why);
  }

  #close(reader: Reader, why: Status): void {
    this.#byId.delete(reader.id);
    this.#bySocket.delete(reader.socket);
    this.#withDeadline.delete(reader);
    this.#backlog.delete(reader);
    if (why.reason === "ProtocolError") this.#metrics.malformed++;
    closeSocket(reader.socket, why);
  }
}

/** Records the start and the end of subscriptions. */
function note({ subscriptions }: Reader, changes: readonly SubscriptionChange[]): void {
  for (const { subscription, resource } of changes) {
    if (resource === undefined) subscriptions.delete(subscription);
    else subscriptions.set(subscription, resource);
  }
}

/** Sends a reader the reason why the object disconnects it. The caller then closes the socket. */
function closeReader(socket: HibernatableSocket, why: Status): void {
  const w = new Writer();
  writeSubscriptionStatus(w, 0, why);
  send(socket, w.take());
}

function saveReader({ socket, serial, grant, shard, whole, sent, stalledAt, silentSince, unacknowledged, ping }: Reader, saved: Uint8Array): void {
  const attachment: Attachment = { serial, grant, ...(shard && { shard, whole }), sent, stalledAt, silentSince, unacknowledged, ping };
  // If the position does not fit because a reader has too many subscriptions, the reader must
  // connect again when the object wakes up.
  if (setAttachment(socket, { ...attachment, saved } satisfies Attachment)) setAttachment(socket, attachment);
}

/** Returns the refusal of a subscription to data that this object does not store, or undefined. */
function misplaced({ shard, whole }: Reader, { resource, namespace }: Subscribed): Status | undefined {
  if (!shard || (namespace ? inShard(namespace, shard) : whole)) return undefined;
  const lacks = namespace ? `${namespace} is not in it` : "a subscription must name a namespace";
  return status(400, "BadRequest", `the namespaces are divided over several objects of this edge. This one has shard ${shard}, and ${lacks}: connect with ?resource=${resource}&namespace=NAME, or once for each object with &shard=`);
}

/** Returns the error that a connector sends to a silent reader. */
function silent(): Status {
  return status(408, "Timeout", "no Hello was received in time: the first message must begin with a Hello frame");
}

function tooSlow(millis: number): Status {
  const text = `this reader accepted no data for ${millis / 1000} s while data was waiting: connect again and resume`;
  return { ...status(429, "TooManyRequests", text), retryAfterSeconds: 1 };
}

function behind({ unacknowledged }: Reader): Status {
  const text = `the object is short of memory, and this reader has ${unacknowledged} unread bytes: connect again and resume`;
  return { ...status(429, "TooManyRequests", text), retryAfterSeconds: 5 };
}

/** Returns the error that a connector sends for a message with too many frames. */
function tooManyFrames(): Status {
  const cause = "max-message-frames";
  return { ...status(413, "RequestEntityTooLarge", `a message has too many frames (limit: ${cause})`), cause };
}

function tooFast(perSecond: number): Status {
  return { ...status(429, "TooManyRequests", `this reader sends more than ${perSecond} messages per second: send fewer`), retryAfterSeconds: 10 };
}

function full(readers: number): Status {
  return { ...status(503, "ServiceUnavailable", `this object already serves ${readers} readers, the maximum (maxReaders): connect later`), retryAfterSeconds: 10 };
}
