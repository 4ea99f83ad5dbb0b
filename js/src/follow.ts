// A cache of all objects of a collection, for adapters. A watch feeds the cache. After a new list,
// the cache compares the new objects with its previous objects and reports the differences.

import type { WatchglassClient } from "./lazy.js";
import { frozen } from "./object.js";
import type { Collection, KubeObject, ResourceVersion, Selectors, Watchglass } from "./types.js";

/** A client, or an established connection. */
export type Connection = WatchglassClient | Watchglass;

/** Returns the connection of a client, and connects it if necessary. */
export function connectionOf(client: Connection): Promise<Watchglass> {
  return "connect" in client ? client.connect() : Promise.resolve(client);
}

/** A change to one object. */
export interface ObjectChange<T extends object> {
  type: "added" | "modified" | "deleted";
  key: string;
  /** The object after the change. For a deletion, its last known state. */
  object: T;
  /** For a modification, the object before the change. */
  previous?: T;
  /**
   * Set if the deletion was missed and detected by a new list. The object may then have had a later
   * state than {@link object}.
   */
  finalStateUnknown?: true;
}

/**
 * The matching objects of a collection, by key. If the history of the watch is lost, the
 * cache keeps its objects until the new state is complete, and then reports the
 * differences. All users share the objects, which are therefore frozen. An object is replaced only
 * by another version.
 */
export class ObjectCache<T extends object> {
  readonly objects = new Map<string, T>();
  /** The version of the last event or bookmark. */
  resourceVersion: ResourceVersion = "";
  readonly #changed: (changes: ObjectChange<T>[]) => void;

  /**
   * Creates a cache. The callback receives each change, and the differences after each complete
   * state, even if there are none.
   */
  constructor(changed: (changes: ObjectChange<T>[]) => void) {
    this.#changed = changed;
  }

  /**
   * Follows a collection, and resolves when the signal is aborted. A watch that the collection
   * cannot serve yet, for example because the token is refused, is opened again when the collection
   * recovers. Rejects if the watch can never be served, or when the collection ends.
   */
  async follow(collection: Collection<T>, selectors: Selectors, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        return await this.#watch(collection, selectors, signal);
      } catch (error) {
        if (signal.aborted) return;
        const { code } = error as { code?: number };
        if (code === 410) continue;
        if (code === 400 || code === 500 || isOver(collection)) throw error;
        await recovered(collection, signal);
      }
    }
  }

  async #watch(collection: Collection<T>, selectors: Selectors, signal: AbortSignal): Promise<void> {
    let initial: Map<string, T> | undefined = new Map();
    for await (const event of collection.watch({ ...selectors, sendInitialEvents: true, allowWatchBookmarks: true, signal })) {
      if (signal.aborted) return; // an event may arrive after the abort
      if (event.type === "BOOKMARK") {
        this.resourceVersion = event.resourceVersion;
        if (!initial || !event.initialEventsEnd) continue;
        const state = initial;
        initial = undefined;
        this.#replace(state);
        continue;
      }
      const { type, finalStateUnknown } = event;
      const object = frozen(event.object);
      if (!initial) this.#take(type, object, finalStateUnknown);
      else if (type === "DELETED") initial.delete(keyOf(object));
      else initial.set(keyOf(object), object);
    }
  }

  /** Replaces the cached objects with a complete state, and reports the differences. */
  #replace(state: Map<string, T>): void {
    const changes: ObjectChange<T>[] = [];
    for (const [key, object] of this.objects) {
      if (!state.has(key)) changes.push({ type: "deleted", key, object, finalStateUnknown: true });
    }
    for (const [key, object] of state) {
      const previous = this.objects.get(key);
      if (!previous) changes.push({ type: "added", key, object });
      else if (versionOf(previous) !== versionOf(object)) changes.push({ type: "modified", key, object, previous });
      else state.set(key, previous);
    }
    this.objects.clear();
    for (const [key, object] of state) this.objects.set(key, object);
    this.#changed(changes);
  }

  #take(type: "ADDED" | "MODIFIED" | "DELETED", object: T, finalStateUnknown: boolean | undefined): void {
    const key = keyOf(object);
    const previous = this.objects.get(key);
    this.resourceVersion = versionOf(object);
    if (type === "DELETED") {
      if (!this.objects.delete(key)) return;
      return this.#changed([{ type: "deleted", key, object, ...(finalStateUnknown && { finalStateUnknown }) }]);
    }
    this.objects.set(key, object);
    this.#changed([previous ? { type: "modified", key, object, previous } : { type: "added", key, object }]);
  }
}

/** Reports whether a collection is live or closed. In both states, no recovery is pending. */
function isOver({ status: { state } }: Collection<any>): boolean {
  return state === "live" || state === "closed";
}

/** Resolves when a collection is live or closed, or when the signal is aborted. */
function recovered(collection: Collection<any>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const stop = collection.subscribe(() => isOver(collection) && done());
    const done = (): void => {
      stop();
      signal.removeEventListener("abort", done);
      resolve();
    };
    signal.addEventListener("abort", done);
  });
}

/** Returns the key of an object: "namespace/name", or "name" for cluster-scoped objects. */
export function keyOf(object: object): string {
  const { namespace, name } = (object as KubeObject).metadata;
  return namespace ? `${namespace}/${name}` : name;
}

/** Returns the resource version of an object. */
export function versionOf(object: object): ResourceVersion {
  return (object as KubeObject).metadata.resourceVersion;
}
