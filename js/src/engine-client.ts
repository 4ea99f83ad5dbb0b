import { abortable } from "./abort.js";
import { clientStatus } from "./client-status.js";
import { Deferred } from "./deferred.js";
import { internalError, messageOf, protocolError, WatchglassError } from "./errors.js";
import { Listeners, offNextFrame, onNextFrame } from "./listeners.js";
import { batchBytes, idsPerMember, type MemberEvents, type Membership } from "./member.js";
import type { ClientStatus, Opened, Schema, Status } from "./types.js";
import { split, Writer } from "./wire/codec.js";
import { writeMemberCommand, type MemberCommand } from "./wire/commands.js";
import { readDelivery, type Delivery } from "./wire/outputs.js";

/** A collection, watch, view, object or request that is open in the engine under its own ID. */
export interface Open {
  /** Receives an output with the ID of this resource. */
  receive(output: Delivery): void;
  /**
   * Called after the engine was replaced. The new engine does not know the ID, so the resource must
   * reopen or end.
   */
  restarted(status: Status): void;
  /**
   * Called when the engine does not respond and is about to be replaced. The resource's
   * state may be outdated.
   */
  silent?(status: Status): void;
  /** Called when the client ends, which also ends the resource. */
  closed(error: WatchglassError): void;
  /**
   * Describes the resource for {@link Watchglass.opened}, with engine-wide IDs. Requests
   * have no description.
   */
  describe?(): Opened;
}

/** The part of a collection that its watches, views and snapshots use. */
export interface OpenCollection {
  readonly id: number;
  readonly client: EngineClient;
  readonly schema: Schema | undefined;
  readonly metadataOnly: boolean;
  /** Throws if the collection has ended. */
  check(): void;
  /** Registers a child that ends with the collection. */
  adopt(child: Open): void;
  disown(child: Open): void;
}

/** A function that joins an engine, in this thread or in a worker. */
export type Attach = (events: MemberEvents) => Membership | Promise<Membership>;

/** The client side of an engine. It assigns IDs, sends commands, and routes outputs by ID. */
export class EngineClient {
  readonly #open = new Map<number, Open>();
  readonly #writer = new Writer();
  readonly #onClose: (() => void)[] = [];
  readonly #listeners = new Listeners();
  readonly #notify = (): void => {
    if (this.#notified === this.status) return;
    this.#notified = this.#status;
    this.#listeners.call();
  };
  #status = clientStatus([]);
  #notified: ClientStatus | undefined;
  #membership!: Membership;
  #lastId = 0;
  #flushing = false;
  #closed: WatchglassError | undefined;

  private constructor() {}

  /** Joins an engine and returns the client. Rejects if no engine can be joined. */
  static async attach(attach: Attach, token: () => Promise<string>): Promise<EngineClient> {
    const client = new EngineClient();
    client.#membership = await attach({
      frames: (frames) => client.#receive(frames),
      restarted: (message) => client.#restarted(message),
      silent: (message) => client.#silent(message),
      failed: (message) => client.end(internalError(message)),
      token,
    });
    if (client.#closed) throw client.#closed;
    return client;
  }

  /** The first ID of this client. IDs are unique among all members of an engine. */
  get baseId(): number {
    return this.#id(0);
  }

  get status(): ClientStatus {
    const status = this.#closed ? Object.freeze({ state: "closed" as const, error: this.#closed.status }) : clientStatus(this.opened());
    return JSON.stringify(status) === JSON.stringify(this.#status) ? this.#status : (this.#status = status);
  }

  subscribe(listener: () => void): () => void {
    if (this.#listeners.empty) this.#notified = this.status;
    return this.#listeners.add(listener);
  }

  /**
   * Schedules a call of the listeners. Called after a resource was opened or closed, or its state
   * changed.
   */
  changed(): void {
    if (!this.#listeners.empty) onNextFrame(this.#notify);
  }

  /**
   * Describes the open resources, in the order in which they were opened. IDs are relative to this
   * client's first ID.
   */
  opened(): Opened[] {
    return [...this.#open.values()].flatMap((open) => {
      const opened = open.describe?.();
      if (!opened) return [];
      opened.id -= this.baseId;
      if ("of" in opened) opened.of -= this.baseId;
      return [opened];
    });
  }

  /** Throws if the client has ended or has no IDs left. */
  check(): void {
    if (this.#closed) throw this.#closed;
    if (this.#open.size >= idsPerMember - 1) throw internalError(`more than ${idsPerMember - 1} watches, views and requests are open at once`);
  }

  /** Informs the engine whether the page is hidden. */
  hide(hidden: boolean): void {
    this.#membership.hide(hidden);
  }

  /** Registers a function that is called when the client ends. */
  onClose(act: () => void): void {
    this.#onClose.push(act);
  }

  /** Registers a resource that is about to be opened, and returns its new ID. */
  register(open: Open): number {
    this.check();
    do {
      this.#lastId = (this.#lastId + 1) % idsPerMember;
    } while (this.#open.has(this.#id(this.#lastId)));
    const id = this.#id(this.#lastId);
    this.#open.set(id, open);
    this.changed();
    return id;
  }

  /** Frees an ID. Later outputs with this ID are dropped. */
  release(id: number): void {
    this.#open.delete(id);
    this.changed();
  }

  /**
   * Sends a command. The commands of one JavaScript task are sent together in a microtask. Has no
   * effect after the client has ended.
   */
  send(command: MemberCommand): void {
    if (this.#closed) return;
    writeMemberCommand(this.#writer, command);
    // A step accepts batchBytes and, in addition, one command of any size.
    if (this.#writer.length > batchBytes) return this.#membership.send(this.#writer.take());
    if (this.#flushing) return;
    this.#flushing = true;
    queueMicrotask(() => {
      this.#flushing = false;
      if (!this.#closed && this.#writer.length > 0) this.#membership.send(this.#writer.take());
    });
  }

  /**
   * Sends a command and resolves with its reply, which must be of the given type. If the engine is
   * replaced before it replies, the command is sent again.
   */
  request<Type extends Delivery["type"]>(type: Type, command: (id: number) => MemberCommand, signal?: AbortSignal): Promise<Delivery & { type: Type }> {
    return abortable(() => this.#request(type, command), signal);
  }

  #request<Type extends Delivery["type"]>(type: Type, command: (id: number) => MemberCommand): Promise<Delivery & { type: Type }> {
    const answer = new Deferred<Delivery & { type: Type }>();
    if (this.#closed) {
      answer.reject(this.#closed);
      return answer.promise;
    }
    const id = this.register({
      receive: (output) => {
        this.release(id);
        settle(answer, type, output);
      },
      restarted: () => this.send(command(id)),
      closed: answer.reject,
    });
    this.send(command(id));
    return answer.promise;
  }

  /** Ends the client and everything that is open. Later calls have no effect. */
  end(error: WatchglassError): void {
    if (this.#closed) return;
    // Resources are closed in the order in which they were opened. Watches and views follow their
    // collection and end with it, so the loop does not visit them.
    for (const open of this.#open.values()) open.closed(error);
    this.#open.clear();
    this.#closed = error;
    this.#membership?.leave();
    offNextFrame(this.#notify);
    this.#notify();
    this.#listeners.clear();
    for (const act of this.#onClose) act();
  }

  #id(serial: number): number {
    return this.#membership.member * idsPerMember + serial;
  }

  #receive(frames: Uint8Array): void {
    if (this.#closed) return;
    try {
      for (const frame of split(frames)) {
        const output = readDelivery(frame);
        if (output) this.#open.get(output.id)?.receive(output);
      }
    } catch (error) {
      this.end(error instanceof WatchglassError ? error : internalError(messageOf(error), error));
    }
  }

  #silent(message: string): void {
    if (this.#closed) return;
    const status: Status = { code: 504, reason: "Timeout", message };
    for (const open of [...this.#open.values()]) open.silent?.(status);
  }

  #restarted(message: string): void {
    if (this.#closed) return;
    this.#writer.take(); // the commands were addressed to the old engine
    const status: Status = { code: 500, reason: "InternalError", message: `the engine failed and was restarted: ${message}` };
    // Resources are notified in the order in which they were opened, so collections precede their
    // watches and views.
    for (const open of [...this.#open.values()]) open.restarted(status);
  }
}

/**
 * Settles a promise with the reply to a request. Rejects if the reply does not have the expected
 * type.
 */
export function settle<Type extends Delivery["type"]>(answer: Deferred<Delivery & { type: Type }>, type: Type, output: Delivery): void {
  if (output.type === type) answer.resolve(output as Delivery & { type: Type });
  else answer.reject(output.type === "ErrorReply" ? statusError(output.status) : unexpected(output));
}

/** Returns the error for the status of a reply. */
export function statusError(status: Status | undefined): WatchglassError {
  return status ? new WatchglassError(status) : internalError("no reason was given");
}

/** Returns the error for an output that does not match the command. */
export function unexpected(output: Delivery): WatchglassError {
  return protocolError(`${output.type} is not a response to the request`);
}
