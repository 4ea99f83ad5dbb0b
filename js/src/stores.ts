/**
 * The entry `watchglass/stores`, with stores that follow the store contract of Svelte. An adapter
 * for another framework, such as Vue, takes one line of code.
 */
import type { WatchglassClient } from "./lazy.js";
import { LiveClientStatus, LiveObject, LiveObjects, LiveStatus, LiveView, type ObjectsValue, type ObjectValue, type QueryOptions, type Scope, type Store, type ViewValue } from "./live.js";
import type { ClientStatus, CollectionStatus, KubeObject, Row, Selectors } from "./types.js";

export type { ObjectsValue, ObjectValue, QueryOptions, Scope, ViewValue } from "./live.js";

/** A changing value, which is kept up to date while the store has subscribers. */
export interface Readable<Value> {
  /**
   * Calls a function with the value, immediately and after every change, at most once per
   * animation frame. Returns a function that unsubscribes.
   */
  readonly subscribe: (run: (value: Value) => void) => () => void;
  /** Returns the current value. It is frozen, and replaced only when it changes. */
  readonly get: () => Value;
}

/** A store of the results of a query. */
export interface QueryStore<Value, Query> extends Readable<Value> {
  /** Changes the query, but not the resource. */
  readonly query: (query: Query) => void;
}

/**
 * Returns a store of the live rows of a resource: a sorted window of the matching
 * objects.
 */
export function viewStore(client: WatchglassClient, resource: string, options: QueryOptions = {}): QueryStore<ViewValue, QueryOptions> {
  return storeOf(new LiveView(client), resource, options);
}

/**
 * Returns a store of all matching objects of a resource, with their bodies decoded. For long
 * tables, use {@link viewStore}, which decodes no bodies.
 */
export function objectsStore<T extends object = KubeObject>(client: WatchglassClient, resource: string, options: Selectors & { scope?: Scope } = {}): QueryStore<ObjectsValue<T>, Selectors & { scope?: Scope }> {
  return storeOf(new LiveObjects<T>(client), resource, options);
}

/**
 * Returns a store of one object. The key is "namespace/name", or "name" for
 * cluster-scoped objects.
 */
export function objectStore<T extends object = KubeObject>(client: WatchglassClient, resource: string, key: string): QueryStore<ObjectValue<T>, string> {
  return storeOf(new LiveObject<T>(client), resource, key);
}

/**
 * Returns a store of the status of a collection. While it has subscribers, the collection is open.
 */
export function statusStore(client: WatchglassClient, resource: string, scope: Scope = {}): Readable<{ status: CollectionStatus }> {
  return storeOf(new LiveStatus(client), resource, scope);
}

/**
 * Returns a store of the combined status of everything that the client has open. A subscription
 * connects the client.
 */
export function clientStatusStore(client: WatchglassClient): Readable<{ status: ClientStatus }> {
  return storeOf(new LiveClientStatus(client), "", undefined);
}

/** The differences between the rows of a view at two times. */
export interface RowChanges {
  /** Rows that entered the window, in the order of the window. */
  added: Row[];
  /** The new versions of rows that are still in the window. */
  changed: Row[];
  /** Rows that left the window, in their last version. */
  removed: Row[];
}

/**
 * Returns the differences between two snapshots of a view's rows, for tables that are updated with
 * transactions instead of complete data. An object that was deleted and created again is in both
 * `removed` and `added`. The order of the rows is not compared.
 */
export function rowChanges(before: readonly Row[], after: readonly Row[]): RowChanges {
  const left = new Map(before.map((row) => [row.uid, row]));
  const changes: RowChanges = { added: [], changed: [], removed: [] };
  for (const row of after) {
    const previous = left.get(row.uid);
    left.delete(row.uid);
    if (!previous) changes.added.push(row);
    else if (previous !== row) changes.changed.push(row); // unchanged rows stay the same object
  }
  changes.removed.push(...left.values());
  return changes;
}

type Updated<Value, Query> = Store<Value> & { update(resource: string, query: Query): void; stop(): void };

/**
 * Returns a store that opens its resource for the first subscriber, and closes the resource when
 * the last one unsubscribes.
 */
function storeOf<Value, Query>(live: Updated<Value, Query>, resource: string, query: Query): QueryStore<Value, Query> {
  let users = 0;
  const open = (): void => {
    if (users > 0) live.update(resource, query);
  };
  return {
    get: live.get,
    subscribe(run) {
      // During server rendering, components unsubscribe before this microtask runs, so no
      // connection is made.
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
