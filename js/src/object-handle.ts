import { Deferred } from "./deferred.js";
import { statusError, unexpected, type EngineClient, type Open } from "./engine-client.js";
import { closedError, internalError, messageOf, type WatchglassError } from "./errors.js";
import { Listeners, offNextFrame, onNextFrame } from "./listeners.js";
import { frozen, toObject } from "./object.js";
import type { CallOptions, ObjectHandle, ObjectOptions, Opened, State, Status } from "./types.js";
import type { Delivery } from "./wire/outputs.js";

/**
 * Closes the references of garbage-collected handles. Undefined in edge runtimes that lack
 * FinalizationRegistry.
 */
const forgotten = typeof FinalizationRegistry === "function" ? new FinalizationRegistry<Reference<any>>(closeForgotten) : undefined;

const warned = new WeakSet<EngineClient>();

/**
 * Closes a reference. Warns once per client, because a program that drops one handle
 * usually drops many.
 */
function closeForgotten(reference: Reference<any>): void {
  const { state, client } = reference;
  if (state === "closed") return;
  if (!warned.has(client)) console.warn(`watchglass: the handle of ${reference} was garbage-collected while open; close handles, or declare them with "using"`);
  warned.add(client);
  reference.close();
}

/** Opens a reference to an object, and returns its handle. */
export function openObject<T extends object>(client: EngineClient, resource: string, key: string, options: ObjectOptions = {}): ObjectHandle<T> {
  const reference = new Reference<T>(client, resource, key, options.owner ?? "");
  const handle = new Handle(reference);
  forgotten?.register(handle, reference, reference);
  return handle;
}

/**
 * The handle that the program holds. The client refers only to the {@link Reference},
 * so that unreferenced handles can be collected.
 */
class Handle<T extends object> implements ObjectHandle<T> {
  readonly #reference: Reference<T>;

  constructor(reference: Reference<T>) {
    this.#reference = reference;
    void reference.hold(this, reference.ready);
  }

  get current(): T | undefined {
    return this.#reference.current;
  }

  get exists(): boolean | undefined {
    return this.#reference.exists;
  }

  get state(): State {
    return this.#reference.state;
  }

  get error(): Status | undefined {
    return this.#reference.error;
  }

  get ready(): Promise<void> {
    return this.#reference.ready;
  }

  readonly subscribe = (listener: () => void): (() => void) => this.#reference.subscribe(this, listener);

  get(options: CallOptions = {}): Promise<T> {
    return this.#reference.hold(this, this.#reference.get(options));
  }

  close(): void {
    forgotten?.unregister(this.#reference);
    this.#reference.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }
}

/** An object that the engine holds for a page, and the last state that the engine reported. */
class Reference<T extends object> implements Open {
  readonly client: EngineClient;
  readonly #id: number;
  readonly #name: string;
  readonly #of: { resource: string; key: string; owner: string };
  readonly #listeners = new Listeners();
  readonly #notify = (): void => this.#listeners.call();
  readonly #ready = new Deferred();
  /**
   * Keeps handles with pending promises or listeners alive. The map has one entry for each promise
   * and listener.
   */
  readonly #inUse = new Map<object, object>();
  #ended: WatchglassError | undefined;
  /** Why the latest version cannot be read, although the object exists. */
  #unreadable: Status | undefined;
  #status: Status | undefined;
  current: T | undefined;
  exists: boolean | undefined;
  state: State = "connecting";

  constructor(client: EngineClient, resource: string, key: string, owner: string) {
    this.client = client;
    this.#of = { resource, key, owner };
    this.#name = `${resource} ${key}`;
    this.#id = client.register(this);
    this.#acquire();
  }

  toString(): string {
    const { owner } = this.#of;
    return `${this.#name}${owner && ` (owner "${owner}")`}`;
  }

  get ready(): Promise<void> {
    return this.#ready.promise;
  }

  get error(): Status | undefined {
    return this.#status ?? this.#unreadable;
  }

  /**
   * Prevents a handle from being garbage-collected until a promise is settled. Returns the promise.
   */
  hold<R>(handle: object, until: Promise<R>): Promise<R> {
    const use = {};
    this.#inUse.set(use, handle);
    const done = (): void => void this.#inUse.delete(use);
    until.then(done, done);
    return until;
  }

  subscribe(handle: object, listener: () => void): () => void {
    const use = {};
    if (!this.#ended) this.#inUse.set(use, handle);
    const stop = this.#listeners.add(listener);
    return () => {
      this.#inUse.delete(use);
      stop();
    };
  }

  async get({ signal }: CallOptions): Promise<T> {
    if (this.#ended) throw this.#ended;
    const reply = await this.client.request("ObjectReply", (request) => ({ type: "GetObject", request, ...this.#of }), signal);
    return toObject<T>(reply.item, undefined);
  }

  close(): void {
    if (this.#ended) return;
    this.#end(closedError(`the object ${this.#name}`));
    this.client.send({ type: "ReleaseObject", handle: this.#id });
  }

  receive(output: Delivery): void {
    switch (output.type) {
      case "ObjectChanged":
        this.exists = output.item !== undefined;
        this.current = this.#unreadable = undefined;
        try {
          this.current = output.item && frozen(toObject<T>(output.item, undefined));
        } catch (error) {
          this.#unreadable = internalError(`the object ${this.#name} cannot be read: ${messageOf(error)}`).status;
        }
        this.#ready.resolve();
        return onNextFrame(this.#notify);
      case "ObjectState":
        if (output.state === "closed") {
          this.client.send({ type: "ReleaseObject", handle: this.#id });
          return this.#end(statusError(output.status));
        }
        return this.#say(output.state, output.status);
      case "Rejected":
        return this.#end(statusError(output.status));
    }
    throw unexpected(output);
  }

  describe(): Opened {
    return { type: "object", id: this.#id, ...this.#of, state: this.state, error: this.error };
  }

  silent(error: Status): void {
    this.#say("stale", error);
  }

  restarted(error: Status): void {
    this.#say("reconnecting", error);
    this.#acquire();
  }

  closed(error: WatchglassError): void {
    this.#end(error);
  }

  #acquire(): void {
    this.client.send({ type: "AcquireObject", handle: this.#id, ...this.#of, onDemand: false });
  }

  #say(state: State, status: Status | undefined): void {
    this.state = state;
    this.#status = status;
    this.client.changed();
    onNextFrame(this.#notify);
  }

  #end(error: WatchglassError): void {
    if (this.#ended) return;
    this.#ended = error;
    this.state = "closed";
    this.#status = error.status;
    this.client.release(this.#id);
    this.#ready.reject(error);
    // Listeners are called with the final state immediately, because the program may end before the
    // next frame.
    offNextFrame(this.#notify);
    this.#listeners.call();
    this.#listeners.clear();
    this.#inUse.clear();
  }
}
