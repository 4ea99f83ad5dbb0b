import { Deferred } from "./deferred.js";
import { closedError, internalError, messageOf, protocolError, WatchglassError } from "./errors.js";
import { CollectionHandle, type OpenOptions } from "./collection.js";
import { batchBytes, idsPerMember, type MemberEvents, type Seat } from "./engine.js";
import { openObject } from "./object-handle.js";
import type { Collection, KubeObject, ObjectHandle, ObjectOptions, Status, Watchglass } from "./types.js";
import { split, Writer } from "./wire/codec.js";
import { writeCommand, type Command } from "./wire/commands.js";
import { readOutput, type Output } from "./wire/outputs.js";

/** Something open at the engine under an id of its own. */
export interface Open {
  /** A delivery that carries its id. */
  receive(output: Output): void;
  /** The engine is a new one and knows nothing of it. */
  restarted(status: Status): void;
  /** The engine does not answer, and is about to be replaced. What is known may be old. */
  silent?(status: Status): void;
  /** Its end, from outside. */
  closed(error: WatchglassError): void;
}

/** Sits down at an engine, wherever that runs. */
export type Attach = (events: MemberEvents) => Seat | Promise<Seat>;

/** One program's side of an engine: hands out ids, sends commands, and hands what comes back to whom it is for. */
export class Client implements Watchglass {
  readonly #open = new Map<number, Open>();
  readonly #collections = new Set<CollectionHandle<any>>();
  readonly #writer = new Writer();
  readonly #onClose: (() => void)[] = [];
  #seat!: Seat;
  #lastId = 0;
  #flushing = false;
  #closed: WatchglassError | undefined;

  private constructor() {}

  /** Rejects when there is no engine to be had. */
  static async attach(attach: Attach, token: () => Promise<string>): Promise<Client> {
    const client = new Client();
    client.#seat = await attach({
      frames: (frames) => client.#receive(frames),
      restarted: (message) => client.#restarted(message),
      silent: (message) => client.#silent(message),
      failed: (message) => client.#end(internalError(message)),
      token,
    });
    if (client.#closed) throw client.#closed;
    return client;
  }

  collection<T extends object = KubeObject>(resource: string, options: OpenOptions = {}): Collection<T> {
    this.#check();
    const collection = new CollectionHandle<T>(this, resource, options);
    this.#collections.add(collection);
    return collection;
  }

  object<T extends object = KubeObject>(resource: string, key: string, options?: ObjectOptions): ObjectHandle<T> {
    this.#check();
    return openObject<T>(this, resource, key, options);
  }

  inspect(): Promise<Record<string, number>> {
    return this.request((request) => ({ type: "Inspect", request })).then((reply) => {
      if (reply.type !== "InspectReply") throw unexpected(reply);
      return Object.fromEntries(reply.entries.map(([name, value]) => [this.#ownName(name), value]));
    });
  }

  reconnect(): void {
    if (!this.#closed) this.send({ type: "Reconnect" });
  }

  close(): void {
    this.#end(closedError("the connection"));
  }

  [Symbol.dispose](): void {
    this.close();
  }

  /** Calls a function when the client ends. */
  onClose(act: () => void): void {
    this.#onClose.push(act);
  }

  /** Gives an id to something that is to be opened. */
  register(open: Open): number {
    this.#check();
    do {
      this.#lastId = (this.#lastId + 1) % idsPerMember;
    } while (this.#open.has(this.#id(this.#lastId)));
    const id = this.#id(this.#lastId);
    this.#open.set(id, open);
    return id;
  }

  /** Nothing more is delivered to the id. */
  release(id: number): void {
    this.#open.delete(id);
  }

  forget(collection: CollectionHandle<any>): void {
    this.#collections.delete(collection);
  }

  /** Sends a command together with whatever else is said before the current task's promises have run. */
  send(command: Command): void {
    if (this.#closed) return;
    writeCommand(this.#writer, command);
    // A step has room for so much, and for one command of any size besides.
    if (this.#writer.length > batchBytes) return this.#seat.send(this.#writer.take());
    if (this.#flushing) return;
    this.#flushing = true;
    queueMicrotask(() => {
      this.#flushing = false;
      if (!this.#closed && this.#writer.length > 0) this.#seat.send(this.#writer.take());
    });
  }

  /** Asks a question; a new engine is asked again. */
  request(command: (id: number) => Command): Promise<Output> {
    const answer = new Deferred<Output>();
    if (this.#closed) {
      answer.reject(this.#closed);
      return answer.promise;
    }
    const id = this.register({
      receive: (output) => {
        this.release(id);
        if (output.type === "ErrorReply") answer.reject(statusError(output.status));
        else answer.resolve(output);
      },
      restarted: () => this.send(command(id)),
      closed: (error) => answer.reject(error),
    });
    this.send(command(id));
    return answer.promise;
  }

  /** Engine-wide ids are large; those of this client are shown as they count here. */
  #ownName(name: string): string {
    const base = this.#id(0);
    return name.replace(/^collection\.(\d+)\./, (whole, digits) => {
      const serial = Number(digits) - base;
      return serial > 0 && serial < idsPerMember ? `collection.${serial}.` : whole;
    });
  }

  #id(serial: number): number {
    return this.#seat.member * idsPerMember + serial;
  }

  #check(): void {
    if (this.#closed) throw this.#closed;
    if (this.#open.size >= idsPerMember - 1) throw internalError(`more than ${idsPerMember - 1} watches, views and requests are open at once`);
  }

  #receive(frames: Uint8Array): void {
    if (this.#closed) return;
    try {
      for (const frame of split(frames)) {
        const output = readOutput(frame);
        if (output) this.#open.get(idOf(output))?.receive(output);
      }
    } catch (error) {
      this.#end(error instanceof WatchglassError ? error : internalError(messageOf(error), error));
    }
  }

  #silent(message: string): void {
    if (this.#closed) return;
    const status: Status = { code: 504, reason: "Timeout", message };
    for (const open of [...this.#open.values()]) open.silent?.(status);
  }

  #restarted(message: string): void {
    if (this.#closed) return;
    this.#writer.take(); // meant for the engine that is gone
    const status: Status = { code: 500, reason: "InternalError", message: `the engine broke and was restarted: ${message}` };
    // In the order of their opening, so that collections come before what
    // needs them.
    for (const open of [...this.#open.values()]) open.restarted(status);
  }

  #end(error: WatchglassError): void {
    if (this.#closed) return;
    // Collections first: they end their watches and views, and say so.
    for (const collection of [...this.#collections]) collection.end(error);
    for (const open of [...this.#open.values()]) open.closed(error);
    this.#open.clear();
    this.#closed = error;
    this.#seat?.leave();
    for (const act of this.#onClose) act();
  }
}

function idOf(output: Output): number {
  switch (output.type) {
    case "CollectionState":
    case "CollectionSchema":
    case "CollectionError":
      return output.collection;
    case "WatchEvents":
    case "WatchClosed":
      return output.watch;
    case "ViewPatch":
      return output.view;
    case "ObjectChanged":
    case "ObjectState":
      return output.handle;
    case "Rejected":
      return output.id;
    case "ObjectReply":
    case "ListReply":
    case "InspectReply":
    case "ErrorReply":
    case "SnapshotChunk":
      return output.request;
    case "SendReader":
    case "CloseReader":
    case "KeptReader":
    case "ReaderStalled":
      return output.reader;
  }
  return -1;
}

export function statusError(status: Status | undefined): WatchglassError {
  return status ? new WatchglassError(status) : internalError("the engine refused and gave no reason");
}

export function unexpected(output: Output): WatchglassError {
  return protocolError(`${output.type} is not an answer to what was asked`);
}
