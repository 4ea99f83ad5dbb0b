// The stores behind the framework adapters. Each store has one changing value, to which components
// subscribe. The method `update` opens the resource of a store, and `stop` closes the resource. A
// stopped store may be updated again.

import { messageOf, type WatchglassError } from "./errors.js";
import { ObjectCache } from "./follow.js";
import type { WatchglassClient } from "./lazy.js";
import { Listeners, offNextFrame, onNextFrame } from "./listeners.js";
import type {
  ClientStatus,
  Collection,
  CollectionOptions,
  CollectionStatus,
  KubeObject,
  ObjectHandle,
  Row,
  Schema,
  Selectors,
  State,
  Status,
  View,
  ViewOptions,
  ViewSnapshot,
  ViewState,
  Watchglass,
} from "./types.js";

/**
 * How long a collection stays open without users, in milliseconds. A component that mounts within
 * this time reuses the collection, which is still in sync.
 */
export const lingerMillis = 5000;

/** The scope and the options of a collection, without a state to restore. */
export type Scope = Omit<CollectionOptions, "restore">;

interface Shared {
  collection: Collection<any>;
  users: number;
  timer: ReturnType<typeof setTimeout> | undefined;
}

/** The open collections of one client, which components share. */
class Collections {
  readonly #open = new Map<string, Shared>();

  /**
   * Opens a collection, or shares an open one with the same options. Returns the collection, and a
   * function that releases it, which the caller must call once.
   */
  join<T extends object>(wg: Watchglass, resource: string, scope: Scope): [collection: Collection<T>, leave: () => void] {
    const key = JSON.stringify([resource, scope.namespace, scope.labelSelector, scope.fieldSelector, scope.metadataOnly, scope.rowsFirst, scope.columns]);
    let shared = this.#open.get(key);
    if (!shared || shared.collection.status.state === "closed") {
      shared = { collection: wg.collection(resource, scope), users: 0, timer: undefined };
      this.#open.set(key, shared);
    }
    const joined = shared;
    clearTimeout(joined.timer);
    joined.users++;
    return [joined.collection, () => this.#leave(key, joined)];
  }

  #leave(key: string, shared: Shared): void {
    if (--shared.users > 0) return;
    shared.timer = setTimeout(() => {
      if (this.#open.get(key) === shared) this.#open.delete(key);
      shared.collection.close();
    }, lingerMillis);
    (shared.timer as { unref?: () => void }).unref?.(); // does not keep a Node process alive
  }
}

const collections = new WeakMap<Watchglass, Collections>();

function collectionsOf(wg: Watchglass): Collections {
  let all = collections.get(wg);
  if (!all) collections.set(wg, (all = new Collections()));
  return all;
}

/** A changing value, in the form that `useSyncExternalStore` expects. */
export interface Store<Value> {
  /** Returns the value. It is frozen, and replaced only when it changes. */
  readonly get: () => Value;
  /** Calls a listener after every change, at most once per animation frame. Returns a function that unsubscribes. */
  readonly subscribe: (listener: () => void) => () => void;
}

/**
 * The base class of all stores. A store manages a value, the listeners of this value, and one
 * resource that it opens on the client.
 */
abstract class Live<Value extends object> implements Store<Value> {
  readonly #client: WatchglassClient;
  readonly #listeners = new Listeners();
  readonly #notify = (): void => this.#listeners.call();
  #value: Value;
  #cleanups: (() => void)[] = [];
  /**
   * Counts the opened resources, so that a connection that completes late does not open an
   * outdated resource.
   */
  #generation = 0;

  constructor(client: WatchglassClient, initial: Value) {
    this.#client = client;
    this.#value = Object.freeze(initial);
  }

  readonly get = (): Value => this.#value;

  readonly subscribe = (listener: () => void): (() => void) => this.#listeners.add(listener);

  /** Closes the open resource, and keeps the value. */
  stop(): void {
    this.#generation++;
    for (const cleanup of this.#cleanups.splice(0).reverse()) cleanup();
    offNextFrame(this.#notify);
  }

  protected set(changes: Partial<Value>): void {
    const entries = Object.entries(changes) as [keyof Value, Value[keyof Value]][];
    if (entries.every(([name, value]) => Object.is(this.#value[name], value))) return;
    this.#value = Object.freeze({ ...this.#value, ...changes });
    onNextFrame(this.#notify);
  }

  /**
   * Closes the open resource, and opens another one when the client is connected. Calls `failed` if
   * the client cannot connect or `open` throws.
   */
  protected restart(open: (wg: Watchglass) => void, failed: (status: Status) => void): void {
    this.stop();
    const generation = this.#generation;
    this.#client.connect().then((wg) => {
      if (generation === this.#generation) open(wg);
    }).catch((error: unknown) => {
      if (generation === this.#generation) failed(statusOf(error));
    });
  }

  /** Registers a function that runs when the open resource is closed. */
  protected onStop(cleanup: () => void): void {
    this.#cleanups.push(cleanup);
  }

  protected join<T extends object>(wg: Watchglass, resource: string, scope: Scope): Collection<T> {
    const [collection, leave] = collectionsOf(wg).join<T>(wg, resource, scope);
    this.onStop(leave);
    return collection;
  }
}

/**
 * Returns the status of a WatchglassError, and a 500 for any other error. A WatchglassError is
 * identified by its name, because its class may belong to another entry of the package.
 */
export function statusOf(error: unknown): Status {
  if (error instanceof Error && error.name === "WatchglassError") return (error as WatchglassError).status;
  return { code: 500, reason: "InternalError", message: messageOf(error) };
}

/** The contents of a view, and the state of its collection. */
export interface ViewValue {
  rows: readonly Row[];
  /** The number of matching rows, inside and outside of the window. */
  total: number;
  offset: number;
  facets: ViewSnapshot["facets"];
  groups?: ViewSnapshot["groups"];
  /**
   * `loading` until the rows match the current query. The store keeps the rows of the previous
   * query until then.
   */
  view: ViewState;
  /** How current the collection is. */
  state: State;
  /** Why the query was refused, or why the collection is not current. */
  error: Status | undefined;
  /** Undefined until the first sync of the collection. */
  schema: Schema | undefined;
}

export const emptyView: ViewValue = Object.freeze({
  rows: Object.freeze([]),
  total: 0,
  offset: 0,
  facets: Object.freeze({}),
  view: "loading",
  state: "connecting",
  error: undefined,
  schema: undefined,
});

/** Options of a view and of its collection. */
export interface QueryOptions extends ViewOptions {
  /**
   * The part of the resource that the page loads. The selectors of the view filter within
   * it. Default: all objects.
   */
  scope?: Scope;
}

interface Opened {
  /** The resource and scope of the collection, as JSON. */
  key: string;
  /** Undefined until the client is connected. */
  view: View | undefined;
  query: ViewOptions;
}

/** A store of a live view of a resource. */
export class LiveView extends Live<ViewValue> {
  #opened: Opened | undefined;

  constructor(client: WatchglassClient) {
    super(client, { ...emptyView });
  }

  /**
   * Changes the query. If the resource and the scope are the same, the collection stays open, and
   * the old rows remain until the new rows arrive.
   */
  update(resource: string, { scope = {}, ...query }: QueryOptions): void {
    const key = JSON.stringify([resource, scope]);
    const opened = this.#opened;
    if (opened?.key !== key) return this.#open(key, resource, scope, query);
    const { offset, limit, anchor, ...rest } = query;
    const { offset: _, limit: __, anchor: ___, ...before } = opened.query;
    opened.query = query;
    if (!opened.view) return;
    if (JSON.stringify(rest) !== JSON.stringify(before)) opened.view.query(query).catch(() => {}); // the view reports the error
    else opened.view.move(offset ?? 0, limit ?? 100, anchor);
  }

  override stop(): void {
    this.#opened = undefined;
    super.stop();
  }

  #open(key: string, resource: string, scope: Scope, query: ViewOptions): void {
    const opened: Opened = { key, view: undefined, query };
    this.restart(
      (wg) => {
        const collection = this.join(wg, resource, scope);
        const view = (opened.view = collection.view(opened.query));
        view.ready.catch(() => {}); // the view reports the error
        const show = (): void => {
          const { resourceVersion: _, ...contents } = view.snapshot;
          const { state, error } = collection.status;
          this.set({ groups: undefined, ...contents, view: view.state, state, error: view.error ?? error, schema: collection.schema });
        };
        this.onStop(() => view.close());
        this.onStop(view.subscribe(show));
        this.onStop(collection.subscribe(show));
        show();
      },
      (error) => this.set({ view: "error", error }),
    );
    this.#opened = opened;
    this.set({ ...emptyView });
  }
}

/** All matching objects of a resource, decoded. */
export interface ObjectsValue<T extends object = KubeObject> {
  /** The objects, sorted by key. */
  objects: readonly T[];
  /**
   * Whether all objects have been loaded. `objects` is then complete as of some resource version.
   */
  loaded: boolean;
  state: State;
  error: Status | undefined;
}

export const noObjects: ObjectsValue<never> = Object.freeze({ objects: Object.freeze([]), loaded: false, state: "connecting", error: undefined });

/**
 * A store of all matching objects of a resource. The store decodes every object, so use a
 * {@link LiveView} for long tables.
 */
export class LiveObjects<T extends object = KubeObject> extends Live<ObjectsValue<T>> {
  #key = "";

  constructor(client: WatchglassClient) {
    super(client, { ...noObjects });
  }

  update(resource: string, { scope = {}, ...selectors }: Selectors & { scope?: Scope }): void {
    const key = JSON.stringify([resource, scope, selectors]);
    if (key === this.#key) return;
    this.restart(
      (wg) => {
        const collection = this.join<T>(wg, resource, scope);
        const show = (): void => this.set({ state: collection.status.state, error: collection.status.error });
        this.onStop(collection.subscribe(show));
        show();
        const abort = new AbortController();
        this.onStop(() => abort.abort());
        void this.#follow(collection, selectors, abort.signal);
      },
      (error) => this.set({ error }),
    );
    this.#key = key;
    this.set({ ...noObjects });
  }

  override stop(): void {
    this.#key = "";
    super.stop();
  }

  async #follow(collection: Collection<T>, selectors: Selectors, signal: AbortSignal): Promise<void> {
    const publish = (): void => this.set({ objects: Object.freeze(sorted(cache.objects)), loaded: true });
    const cache = new ObjectCache<T>(() => onNextFrame(publish));
    this.onStop(() => offNextFrame(publish));
    try {
      await cache.follow(collection, selectors, signal);
    } catch (error) {
      this.set({ error: statusOf(error) });
    }
  }
}

function sorted<T>(objects: Map<string, T>): T[] {
  return [...objects].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, object]) => object);
}

/** One object and its state. */
export interface ObjectValue<T extends object = KubeObject> {
  /** Undefined if the object does not exist or is not known yet. */
  object: T | undefined;
  /** Whether the object exists; undefined until that is known. */
  exists: boolean | undefined;
  state: State;
  error: Status | undefined;
}

export const noObject: ObjectValue<never> = Object.freeze({ object: undefined, exists: undefined, state: "connecting", error: undefined });

/** A store of one object. */
export class LiveObject<T extends object = KubeObject> extends Live<ObjectValue<T>> {
  #key = "";

  constructor(client: WatchglassClient) {
    super(client, { ...noObject });
  }

  update(resource: string, name: string): void {
    const key = JSON.stringify([resource, name]);
    if (key === this.#key) return;
    this.restart(
      (wg) => {
        const handle: ObjectHandle<T> = wg.object<T>(resource, name);
        handle.ready.catch(() => {}); // the handle reports the error
        const show = (): void => this.set({ object: handle.current, exists: handle.exists, state: handle.state, error: handle.error });
        this.onStop(() => handle.close());
        this.onStop(handle.subscribe(show));
        show();
      },
      (error) => this.set({ error }),
    );
    this.#key = key;
    this.set({ ...noObject });
  }

  override stop(): void {
    this.#key = "";
    super.stop();
  }
}

export const unknownStatus: CollectionStatus = Object.freeze({ state: "connecting" });

interface StatusValue {
  status: CollectionStatus;
}

/** A store of the status of a collection. The collection is open until the store is stopped. */
export class LiveStatus extends Live<StatusValue> {
  #key = "";

  constructor(client: WatchglassClient) {
    super(client, { status: unknownStatus });
  }

  update(resource: string, scope: Scope): void {
    const key = JSON.stringify([resource, scope]);
    if (key === this.#key) return;
    this.restart(
      (wg) => {
        const collection = this.join(wg, resource, scope);
        const show = (): void => this.set({ status: collection.status });
        this.onStop(collection.subscribe(show));
        show();
      },
      (error) => this.set({ status: Object.freeze({ state: "reconnecting", error }) }),
    );
    this.#key = key;
    this.set({ status: unknownStatus });
  }

  override stop(): void {
    this.#key = "";
    super.stop();
  }
}

const notConnected: ClientStatus = Object.freeze({ state: "connecting" });

export const unknownClientStatus: { status: ClientStatus } = Object.freeze({ status: notConnected });

/** A store of the combined status of everything that a client has open. */
export class LiveClientStatus extends Live<{ status: ClientStatus }> {
  constructor(client: WatchglassClient) {
    super(client, { ...unknownClientStatus });
  }

  update(): void {
    this.restart(
      (wg) => {
        const show = (): void => this.set({ status: wg.status });
        this.onStop(wg.subscribe(show));
        show();
      },
      (error) => this.set({ status: Object.freeze({ state: "closed", error }) }),
    );
    this.set({ status: notConnected });
  }
}
