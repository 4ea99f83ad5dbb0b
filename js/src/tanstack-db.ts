/**
 * The entry `watchglass/tanstack-db`, for collections of TanStack DB that watchglass keeps up to
 * date.
 */
import type { CollectionConfig, LoadSubsetOptions, SyncConfig, UtilsRecord } from "@tanstack/db";
import { connectionOf, keyOf, ObjectCache, versionOf, type Connection, type ObjectChange } from "./follow.js";
import { Listeners, offNextFrame, onNextFrame } from "./listeners.js";
import { pushDown, type Pushdown, type Subset } from "./pushdown.js";
import { compareResourceVersions } from "./versions.js";
import type { Collection, CollectionOptions, CollectionStatus, KubeObject } from "./types.js";

export type { Connection } from "./follow.js";

export interface WatchglassCollectionConfig {
  client: Connection;
  /** The resource, for example "v1/pods" or "apps/v1/deployments". */
  resource: string;
  /** The part of the resource to load. Default: all objects. */
  scope?: Omit<CollectionOptions, "restore">;
  /**
   * The contents of the TanStack collection.
   * - `"eager"` (default): every object of the scope.
   * - `"on-demand"`: the objects that live queries select. The engine evaluates equality and
   *   `inArray` on labels, the namespace, and the fields that field selectors support. The engine
   *   also applies the limit if it evaluates all conditions and the order is by name or age.
   */
  syncMode?: "eager" | "on-demand";
  /**
   * The ID of the TanStack collection. Default: derived from the resource, the scope and the mode.
   */
  id?: string;
}

/** The members of `collection.utils`. */
export interface WatchglassUtils extends UtilsRecord {
  /**
   * Returns the status of the collection that supplies the objects. The result is replaced only
   * when it changes.
   */
  getStatus: () => CollectionStatus;
  /** Calls a listener after every change of the status. Returns a function that unsubscribes. */
  subscribeStatus: (listener: () => void) => () => void;
}

type Writer<T extends object> = Parameters<SyncConfig<T, string>["sync"]>[0];

/**
 * Returns the options of a TanStack collection of Kubernetes objects:
 *
 *     const pods = createCollection(watchglassCollectionOptions<V1Pod>({ client, resource: "v1/pods" }));
 *
 * The key of an object is "namespace/name", or "name" without a namespace. While the connection is
 * lost, the collection keeps its objects, and {@link WatchglassUtils.getStatus} reports the loss.
 */
export function watchglassCollectionOptions<T extends object = KubeObject>(config: WatchglassCollectionConfig): CollectionConfig<T, string, never, WatchglassUtils> & { utils: WatchglassUtils } {
  const { resource, scope = {}, syncMode = "eager", id = `watchglass:${JSON.stringify([resource, scope, syncMode])}` } = config;
  const status = new StatusStore();
  return {
    id,
    getKey: keyOf,
    syncMode,
    // Names are sorted as in Kubernetes, so that the engine can evaluate the limits of queries that
    // sort by name.
    defaultStringCollation: { stringSort: "lexical" },
    sync: { sync: (writer) => new Sync<T>(config, writer, status).handlers(syncMode), rowUpdateMode: "full" },
    utils: { getStatus: status.get, subscribeStatus: status.subscribe },
  };
}

/** The status of the collection that was opened last. */
class StatusStore {
  readonly #listeners = new Listeners();
  #collection: Pick<Collection<any>, "status"> = { status: Object.freeze({ state: "connecting" }) };

  readonly get = (): CollectionStatus => this.#collection.status;
  readonly subscribe = (listener: () => void): (() => void) => this.#listeners.add(listener);

  /**
   * Switches to the status of another collection. Returns a function that unsubscribes from that
   * collection.
   */
  follow(collection: Collection<any>): () => void {
    this.#collection = collection;
    this.#listeners.call();
    return collection.subscribe(() => this.#listeners.call());
  }
}

/** A loaded query, and the number of subscriptions that use it. */
interface Loaded {
  users: number;
  abort: AbortController;
  /** Resolves when the query's objects are written. */
  ready: Promise<void>;
}

/** One run of a collection's sync, from its start to its cleanup. */
class Sync<T extends object> {
  readonly #writer: Writer<T>;
  readonly #abort = new AbortController();
  readonly #collection: Promise<Collection<T>>;
  readonly #written = new Map<string, { object: T; users: number }>();
  readonly #subsets = new Map<string, Loaded>();
  readonly #commit = (): void => this.#flush();
  #due: ObjectChange<T>[] = [];

  constructor({ client, resource, scope }: WatchglassCollectionConfig, writer: Writer<T>, status: StatusStore) {
    this.#writer = writer;
    this.#collection = connectionOf(client).then((wg) => {
      this.#abort.signal.throwIfAborted();
      const collection = wg.collection<T>(resource, scope);
      const stop = status.follow(collection);
      this.#abort.signal.addEventListener("abort", () => (stop(), collection.close()));
      return collection;
    });
  }

  handlers(mode: "eager" | "on-demand"): ReturnType<SyncConfig<T, string>["sync"]> {
    const cleanup = (): void => this.#stop();
    const failed = (error: unknown): void => {
      if (!this.#abort.signal.aborted && this.#writer.collection.status === "loading") this.#writer.markError(error);
    };
    if (mode === "on-demand") {
      this.#collection.then(() => {}, failed);
      this.#writer.markReady();
      return { cleanup, loadSubset: (options) => this.#load(options), unloadSubset: (options) => this.#unload(options) };
    }
    const everything = { namespace: "", labelSelector: "", fieldSelector: "" };
    this.#collection.then((collection) => this.#follow(collection, everything, this.#abort.signal, () => this.#writer.markReady())).catch(failed);
    return { cleanup };
  }

  #stop(): void {
    offNextFrame(this.#commit);
    this.#abort.abort();
    for (const { abort } of this.#subsets.values()) abort.abort();
  }

  #load(options: LoadSubsetOptions): Promise<void> {
    const key = keyOfSubset(options);
    let subset = this.#subsets.get(key);
    if (!subset) {
      const abort = new AbortController();
      subset = { users: 0, abort, ready: this.#open(options, abort.signal) };
      this.#subsets.set(key, subset);
      subset.ready.catch(() => this.#subsets.delete(key)); // another attempt may succeed
    }
    subset.users++;
    return subset.ready;
  }

  #unload(options: LoadSubsetOptions): void {
    const key = keyOfSubset(options);
    const subset = this.#subsets.get(key);
    if (!subset || --subset.users > 0) return;
    this.#subsets.delete(key);
    subset.abort.abort();
  }

  async #open(options: Subset, signal: AbortSignal): Promise<void> {
    const collection = await this.#collection;
    await collection.synced;
    const schema = collection.schema!;
    const { selectors, window } = pushDown(options, schema.fields, schema.columns);
    return new Promise((resolve, reject) => {
      const run = window ? this.#showWindow(collection, { selectors, window }, signal, resolve) : this.#follow(collection, selectors, signal, resolve);
      run.then(resolve, reject);
    });
  }

  /** Writes the matching objects and their changes, until the signal is aborted. */
  async #follow(collection: Collection<T>, selectors: Pushdown["selectors"], signal: AbortSignal, loaded: () => void): Promise<void> {
    let first = true;
    const cache = new ObjectCache<T>((changes) => {
      this.#take(changes);
      if (!first) return;
      first = false;
      this.#flush();
      loaded();
    });
    try {
      await cache.follow(collection, selectors, signal);
    } finally {
      if (signal.aborted) this.#release(cache.objects);
    }
  }

  /**
   * Writes the objects in the window of a view and their changes, until the signal is
   * aborted.
   */
  async #showWindow(collection: Collection<T>, { selectors, window }: Required<Pushdown>, signal: AbortSignal, loaded: () => void): Promise<void> {
    const held = new Map<string, T>();
    const view = collection.view({ ...selectors, ...window! });
    let wake = (): void => {};
    const stop = view.subscribe(() => wake());
    signal.addEventListener("abort", () => wake());
    try {
      await view.ready;
      while (!signal.aborted && view.state !== "closed") {
        const shown = view.snapshot;
        const next = new Promise<void>((resolve) => (wake = resolve));
        this.#take(await differences(collection, held, shown.rows));
        this.#flush();
        loaded();
        if (view.snapshot === shown && !signal.aborted) await next;
      }
    } finally {
      stop();
      view.close();
      if (signal.aborted) this.#release(held);
    }
  }

  /** Removes the objects of a subset that is unloaded, unless other subsets contain them. */
  #release(objects: Map<string, T>): void {
    if (this.#abort.signal.aborted) return;
    this.#take([...objects].map(([key, object]) => ({ type: "deleted", key, object })));
  }

  /** Queues the changes of one subset, to be written in the next animation frame. */
  #take(changes: ObjectChange<T>[]): void {
    if (changes.length === 0) return;
    this.#due.push(...changes);
    onNextFrame(this.#commit);
  }

  #flush(): void {
    offNextFrame(this.#commit);
    const changes = this.#due.splice(0);
    if (changes.length === 0 || this.#abort.signal.aborted) return;
    const { begin, write, commit } = this.#writer;
    begin();
    for (const change of changes) {
      const message = this.#apply(change);
      if (message) write(message);
    }
    commit();
  }

  /**
   * Applies a change of one subset to the written objects. An object in several subsets is written
   * once, and is deleted when the last subset removes it. Returns the resulting write to the
   * TanStack collection, or undefined if there is none.
   */
  #apply({ type, key, object }: ObjectChange<T>): Parameters<Writer<T>["write"]>[0] | undefined {
    const written = this.#written.get(key);
    if (!written) {
      this.#written.set(key, { object, users: 1 });
      return { type: "insert", value: object };
    }
    if (type === "added") written.users++;
    if (type === "deleted") {
      if (--written.users > 0) return undefined;
      this.#written.delete(key);
      return { type: "delete", key };
    }
    // Another subset may have written a newer version.
    if (compareResourceVersions(versionOf(object), versionOf(written.object)) <= 0) return undefined;
    written.object = object;
    return { type: "update", value: object };
  }
}

/** Updates `held` to contain the objects of the rows, and returns the changes. */
async function differences<T extends object>(collection: Collection<T>, held: Map<string, T>, rows: readonly { key: string; resourceVersion: string }[]): Promise<ObjectChange<T>[]> {
  const changes: ObjectChange<T>[] = [];
  const keys = new Set(rows.map(({ key }) => key));
  for (const [key, object] of held) {
    if (keys.has(key)) continue;
    held.delete(key);
    changes.push({ type: "deleted", key, object });
  }
  const stale = rows.filter(({ key, resourceVersion }) => !held.has(key) || versionOf(held.get(key)!) !== resourceVersion);
  const objects = await Promise.all(stale.map(({ key }) => collection.get(key).catch(() => undefined))); // a deleted object leaves the window in the next snapshot
  stale.forEach(({ key }, i) => {
    const object = objects[i];
    if (!object) return;
    changes.push(held.has(key) ? { type: "modified", key, object } : { type: "added", key, object });
    held.set(key, object);
  });
  return changes;
}


function keyOfSubset({ where, orderBy, limit, offset }: LoadSubsetOptions): string {
  return JSON.stringify([where, orderBy, limit, offset], (_name, value: unknown) => (typeof value === "bigint" ? `${value}n` : value));
}
