/** Stores by the contract of Svelte, which Vue and others take with a line. The entry `watchglass/stores`. */
import type { WatchglassClient } from "./lazy.js";
import { LiveObject, LiveObjects, LiveStatus, LiveView, type ObjectsValue, type ObjectValue, type QueryOptions, type Scope, type Store, type ViewValue } from "./live.js";
import type { CollectionStatus, KubeObject, Selectors } from "./types.js";

export type { ObjectsValue, ObjectValue, QueryOptions, Scope, ViewValue } from "./live.js";

/** A value that changes. It is kept up to date while it has subscribers. */
export interface Readable<Value> {
  /** Calls a function with the value, at once and after every change, at most once per animation frame. Returns a function that unsubscribes. */
  readonly subscribe: (run: (value: Value) => void) => () => void;
  /** The value as it is now. Frozen, and the same object until it changes. */
  readonly get: () => Value;
}

/** A store of what a query shows. */
export interface QueryStore<Value, Query> extends Readable<Value> {
  /** Shows another query of the same resource. */
  readonly query: (query: Query) => void;
}

/** Returns a store of the live rows of a resource: a window of those that match, sorted. */
export function viewStore(client: WatchglassClient, resource: string, options: QueryOptions = {}): QueryStore<ViewValue, QueryOptions> {
  return storeOf(new LiveView(client), resource, options);
}

/** Returns a store of all objects of a resource that match, decoded. A long table is better served by {@link viewStore}. */
export function objectsStore<T extends object = KubeObject>(client: WatchglassClient, resource: string, options: Selectors & { scope?: Scope } = {}): QueryStore<ObjectsValue<T>, Selectors & { scope?: Scope }> {
  return storeOf(new LiveObjects<T>(client), resource, options);
}

/** Returns a store of one object. The key is "namespace/name", or "name" of a cluster-scoped object. */
export function objectStore<T extends object = KubeObject>(client: WatchglassClient, resource: string, key: string): QueryStore<ObjectValue<T>, string> {
  return storeOf(new LiveObject<T>(client), resource, key);
}

/** Returns a store of how current a collection is, and keeps it open. */
export function statusStore(client: WatchglassClient, resource: string, scope: Scope = {}): Readable<{ status: CollectionStatus }> {
  return storeOf(new LiveStatus(client), resource, scope);
}

type Updated<Value, Query> = Store<Value> & { update(resource: string, query: Query): void; stop(): void };

/** Opens what a store shows for its first subscriber, and closes it after the last. */
function storeOf<Value, Query>(live: Updated<Value, Query>, resource: string, query: Query): QueryStore<Value, Query> {
  let users = 0;
  const open = (): void => {
    if (users > 0) live.update(resource, query);
  };
  return {
    get: live.get,
    subscribe(run) {
      // A server that renders a page leaves before this, and connects to nothing.
      if (users++ === 0) queueMicrotask(open);
      const stop = live.subscribe(() => run(live.get()));
      let subscribed = true;
      run(live.get());
      return () => {
        if (!subscribed) return;
        subscribed = false;
        stop();
        if (--users === 0) live.stop();
      };
    },
    query(next) {
      query = next;
      open();
    },
  };
}
