import { idsPerMember, type Engine, type Seat } from "../engine.js";
import type { Status } from "../types.js";
import { Writer, type Frame } from "../wire/codec.js";
import { writeCommand, type Command } from "../wire/commands.js";
import { readOutput } from "../wire/outputs.js";
import { Backlog, type Owing, type Ping } from "./backlog.js";
import { turnAway } from "./farewell.js";
import { countFrames, pongs, refuseSubscriptions, writePing, type Subscribed } from "./frames.js";
import type { Counters } from "./counters.js";
import { covers, scopes, type Grant } from "./grant.js";
import type { Holdings } from "./holdings.js";
import type { Settings } from "./options.js";
import { Pace } from "./pace.js";
import { inPart } from "./places.js";
import { socketPair, type HibernatableSocket, type ObjectState } from "./platform.js";
import { refuse, status } from "./refusal.js";
import { closeSocket, expired, keepWith, protocolBroken, send, tooLong, upgraded, upgradeRefused } from "./sockets.js";
import { writeSubscriptionStatus } from "../wire/status.js";

const tag = "reader";

/** Bytes that are sent to a reader before it says anything. One that has taken them all is not reading, or has subscribed to too much at a time. */
const roomBytes = 16 << 20;

/** The longest message of a reader, as at a connector: thousands of frames. What one message takes, the module's memory keeps. */
const maxMessage = 1 << 20;

/** Frames in one message of a reader, as at a connector. */
const maxFrames = 1024;

/** How long a reader may go without a Hello, as at a connector. */
const helloMillis = 10_000;

/** What stays with a reader's socket while the object is not in memory. */
interface Attachment {
  /** Counts the readers of this object. */
  serial: number;
  grant: Grant;
  /** Which part of the namespaces the object has; nothing for all. */
  part?: string;
  /** The reader asked for that part, and takes it for all there is. */
  whole?: boolean;
  /** How far it has been served; nothing when that is not known. */
  kept?: Uint8Array;
  /** As of {@link Reader}. */
  sent?: number;
  stalledAt?: number;
  silentSince?: number;
  unheard?: number;
  ping?: Ping | undefined;
}

interface Reader extends Owing {
  readonly id: number;
  readonly serial: number;
  readonly socket: HibernatableSocket;
  readonly grant: Grant;
  readonly part: string | undefined;
  readonly whole: boolean;
  /** Bytes sent since it last said something. */
  sent: number;
  /** Since when data waits for it that it gives no credit for, or leaves no room; zero when none does. */
  stalledAt: number;
  /** Since when a Hello is waited for; zero once it came. */
  silentSince: number;
  /** It was told something, or said something, since it was kept. */
  stirred: boolean;
  readonly pace: Pace;
}

/** Those who read from an object. The engine serves them; this has their sockets. */
export class Readers {
  readonly #state: ObjectState;
  readonly #settings: Settings;
  readonly #holdings: Holdings;
  readonly #counters: Counters;
  readonly #seat: Seat;
  readonly #writer = new Writer();
  readonly #byId = new Map<number, Reader>();
  readonly #bySocket = new Map<HibernatableSocket, Reader>();
  /** Those that something is waited for from, with an end to it. */
  readonly #awaited = new Set<Reader>();
  readonly #backlog = new Backlog<Reader>();
  #lastSerial = 0;

  constructor(state: ObjectState, engine: Engine, settings: Settings, holdings: Holdings, counters: Counters) {
    this.#counters = counters;
    this.#state = state;
    this.#settings = settings;
    this.#holdings = holdings;
    const restart = (message: string): void => this.endAll(status(503, "ServiceUnavailable", `connect again: ${message}`));
    this.#seat = engine.attach({
      frames: () => {},
      frame: (frame) => this.#told(frame),
      restarted: restart,
      failed: restart,
      token: async () => "",
    });
  }

  /** Goes on with the readers that have stayed connected, if it is known how far they are. */
  start(): void {
    for (const socket of this.#state.getWebSockets(tag)) {
      if (socket.readyState !== 1) continue;
      const attachment = socket.deserializeAttachment() as Attachment;
      if (attachment.kept) this.#attach(socket, attachment);
      else closeSocket(socket, status(503, "ServiceUnavailable", "connect again: the object starts anew, and has forgotten what this reader reads"));
    }
  }

  get count(): number {
    return this.#bySocket.size;
  }

  /** When the first of them has to go; zero for never. */
  get expiry(): number {
    let first = 0;
    for (const { grant } of this.#bySocket.values()) if (first === 0 || grant.expires < first) first = grant.expires;
    return first * 1000;
  }

  /** Bytes that they were sent and are not known to have taken. */
  get unheard(): number {
    return this.#backlog.bytes;
  }

  /** Asks those who may let much of it wait, where all that waits has no more memory than this. */
  fit(room: number, now: number): void {
    this.#backlog.room = room;
    for (const [reader, mark] of this.#backlog.ask(now)) {
      const w = new Writer();
      writePing(w, mark);
      reader.stirred = true;
      send(reader.socket, w.take());
    }
  }

  /** When the first of those that say nothing, or take nothing, has to go; zero for never. */
  get patience(): number {
    let first = this.#backlog.due;
    for (const reader of this.#awaited) {
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
    if (this.count >= this.#settings.maxReaders) return turnAway(request, full(this.#settings.maxReaders));
    const [client, server] = socketPair();
    const query = new URL(request.url).searchParams;
    const part = query.get("shard");
    const attachment: Attachment = { serial: this.#newSerial(), grant, ...(part && { part, whole: !query.get("namespace") }), silentSince: Date.now() };
    const unkept = keepWith(server, attachment);
    if (unkept) return refuse(unkept);
    this.#state.acceptWebSocket(server, [tag]);
    this.#attach(server, attachment);
    return upgraded(client);
  }

  message(socket: HibernatableSocket, message: string | Uint8Array): void {
    const reader = this.#bySocket.get(socket)!;
    if (typeof message === "string") return this.#end(reader, protocolBroken("expected binary messages, not text"));
    if (message.length > maxMessage) return this.#end(reader, tooLong(message.length, maxMessage));
    const { frames, subscriptions } = countFrames(message);
    if (frames > maxFrames) return this.#end(reader, tooManyFrames());
    if (!reader.pace.allows(message.length, subscriptions, Date.now())) {
      this.#counters.add("readersTooFast");
      return this.#end(reader, tooFast(this.#settings.messagesPerSecond));
    }
    if (reader.ping) for (const mark of pongs(message)) this.#backlog.answered(reader, mark);
    // Whoever speaks has heard, unless it owes an answer: there is room again for what it was sent.
    const { id } = reader;
    const heard = reader.ping ? 0 : reader.sent;
    reader.sent -= heard;
    reader.stirred = true;
    this.#command({ type: "GrantReader", reader: id, bytes: heard }, { type: "ReaderMessage", reader: id, data: this.#answerable(reader, message) });
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
    for (const reader of [...this.#awaited]) {
      if (this.#until(reader) > now) continue;
      if (reader.silentSince !== 0) {
        this.#end(reader, silent());
        continue;
      }
      this.#counters.add("readersTooSlow");
      this.#end(reader, tooSlow(this.#settings.stallMillis));
    }
    for (const reader of this.#backlog.overdue(now)) {
      this.#counters.add("readersTooSlow");
      this.#end(reader, behind(reader));
    }
  }

  /** Ends all of them, whatever the engine goes on with. */
  endAll(why: Status): void {
    for (const reader of [...this.#bySocket.values()]) this.#close(reader, why);
  }

  /** Leaves with each socket how far its reader is. */
  keep(): void {
    for (const reader of this.#bySocket.values()) {
      if (!reader.stirred) continue;
      reader.stirred = false;
      writeCommand(this.#writer, { type: "KeepReader", reader: reader.id });
    }
    if (this.#writer.length > 0) this.#seat.send(this.#writer.take());
  }

  #attach(socket: HibernatableSocket, { serial, grant, part, whole = false, kept, sent = 0, stalledAt = 0, silentSince = 0, unheard = 0, ping }: Attachment): void {
    const id = this.#id(serial);
    const pace = new Pace(this.#settings.messagesPerSecond, Date.now());
    const reader: Reader = { id, serial, socket, grant, part, whole, sent, stalledAt, silentSince, unheard, ping, pace, stirred: kept === undefined };
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
      kept: kept ?? new Uint8Array(),
      stalled: stalledAt !== 0,
    });
  }

  /** What the engine has for a reader. */
  #told(frame: Frame): void {
    const output = readOutput(frame);
    if (!output || !("reader" in output)) return;
    const reader = this.#byId.get(output.reader);
    if (!reader) return;
    switch (output.type) {
      case "SendReader":
        reader.sent += output.data.length;
        reader.stirred = true;
        // It is the answer to the Hello, or comes after it.
        if (reader.silentSince !== 0) this.#await(reader, { silentSince: 0 });
        send(reader.socket, output.data);
        return this.#backlog.sent(reader, output.data.length) ? this.#endSlowest() : undefined;
      case "CloseReader":
        return this.#close(reader, output.status ?? protocolBroken("no reason was given"));
      case "KeptReader":
        return keep(reader, output.data.slice());
      case "ReaderStalled":
        return this.#stall(reader, output.stalled);
    }
  }

  /** One that lets data wait costs nothing but its socket, for which there is an end as well. */
  #stall(reader: Reader, stalled: boolean): void {
    reader.stirred = true;
    this.#await(reader, { stalledAt: stalled ? Date.now() : 0 });
  }

  #await(reader: Reader, since: { stalledAt?: number; silentSince?: number } = {}): void {
    Object.assign(reader, since);
    if (reader.stalledAt !== 0 || reader.silentSince !== 0) this.#awaited.add(reader);
    else this.#awaited.delete(reader);
  }

  /** Ends a reader before the memory of all does. */
  #endSlowest(): void {
    const reader = this.#backlog.slowest;
    if (!reader) return;
    this.#counters.add("readersTooSlow");
    farewell(reader.socket, behind(reader));
    this.#close(reader, behind(reader));
    // Not from within what the engine says.
    queueMicrotask(() => this.#command({ type: "DetachReader", reader: reader.id }));
  }

  /** How long a reader is waited for. */
  #until({ silentSince, stalledAt }: Reader): number {
    return silentSince !== 0 ? silentSince + helloMillis : stalledAt + this.#settings.stallMillis;
  }

  /** What is left of a message for the engine, when some of what it asks for is not here, or is more than there is memory for. */
  #answerable(reader: Reader, message: Uint8Array): Uint8Array {
    if (!this.#holdings.scarce && !reader.part) return message;
    try {
      const { left, answers } = refuseSubscriptions(message, (subscribed) =>
        misplaced(reader, subscribed) ?? this.#holdings.refused(subscribed.resource, subscribed.metadataOnly));
      if (answers.length > 0) send(reader.socket, answers);
      return left;
    } catch {
      return message; // it breaks the protocol, and the engine says how
    }
  }

  #command(...commands: Command[]): void {
    for (const command of commands) writeCommand(this.#writer, command);
    this.#seat.send(this.#writer.take());
  }

  #id(serial: number): number {
    return this.#seat.member * idsPerMember + serial;
  }

  #newSerial(): number {
    do {
      this.#lastSerial = (this.#lastSerial + 1) % idsPerMember;
    } while (this.#byId.has(this.#id(this.#lastSerial)));
    return this.#lastSerial;
  }

  /** Ends a reader that the engine would go on with. */
  #end(reader: Reader, why: Status): void {
    this.#command({ type: "DetachReader", reader: reader.id });
    farewell(reader.socket, why);
    this.#close(reader, why);
  }

  #close(reader: Reader, why: Status): void {
    this.#byId.delete(reader.id);
    this.#bySocket.delete(reader.socket);
    this.#awaited.delete(reader);
    this.#backlog.delete(reader);
    closeSocket(reader.socket, why);
  }
}

/** The last word to a reader. */
function farewell(socket: HibernatableSocket, why: Status): void {
  const w = new Writer();
  writeSubscriptionStatus(w, 0, why);
  send(socket, w.take());
}

function keep({ socket, serial, grant, part, whole, sent, stalledAt, silentSince, unheard, ping }: Reader, kept: Uint8Array): void {
  const attachment: Attachment = { serial, grant, ...(part && { part, whole }), sent, stalledAt, silentSince, unheard, ping };
  // With more subscriptions than can be kept the reader has to connect again when the object wakes up.
  if (keepWith(socket, { ...attachment, kept } satisfies Attachment)) keepWith(socket, attachment);
}

/** Why a subscription is not answered where it would get less than it asks for. Who may not have it at all is told that, by the engine. */
function misplaced({ grant, part, whole }: Reader, { resource, namespace }: Subscribed): Status | undefined {
  if (!part || (namespace ? inPart(namespace, part) : whole) || !covers(grant, resource, namespace)) return undefined;
  const lacks = namespace ? `${namespace} is not among them` : "a subscription has to name one of them";
  return status(400, "BadRequest", `the namespaces are divided over several objects of this edge, this one has shard ${part}, and ${lacks}: connect with ?resource=${resource}&namespace=NAME, or once for each object with &shard=`);
}

/** As a connector words it. */
function silent(): Status {
  return status(408, "Timeout", "the reader connected and said nothing: the first message must have come by now, and begin with a Hello frame");
}

function tooSlow(millis: number): Status {
  const text = `this reader took nothing for ${millis / 1000} s while data waited for it: connect again and go on from there`;
  return { ...status(429, "TooManyRequests", text), retryAfterSeconds: 1 };
}

function behind({ unheard }: Reader): Status {
  const text = `the object is short of memory, and ${unheard} bytes wait for this reader, which has not said that it takes them: connect again and go on from there`;
  return { ...status(429, "TooManyRequests", text), retryAfterSeconds: 5 };
}

/** As a connector words it. */
function tooManyFrames(): Status {
  const cause = "max-message-frames";
  return { ...status(413, "RequestEntityTooLarge", `a message has too many frames (limit: ${cause})`), cause };
}

function tooFast(perSecond: number): Status {
  return { ...status(429, "TooManyRequests", `this reader says more than ${perSecond} messages a second: ask for less at a time`), retryAfterSeconds: 10 };
}

function full(readers: number): Status {
  return { ...status(503, "ServiceUnavailable", `this object serves ${readers} readers, which is as many as it may (maxReaders): connect later`), retryAfterSeconds: 10 };
}
