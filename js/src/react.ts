/** The entry `watchglass/react`, with React hooks for live objects and views. */
import { createContext, createElement, useCallback, useContext, useEffect, useState, useSyncExternalStore, type ReactElement, type ReactNode } from "react";
import type { Indexer } from "./indexer.js";
import type { WatchglassClient } from "./lazy.js";
import {
  emptyView,
  LiveClientStatus,
  LiveObject,
  LiveObjects,
  LiveStatus,
  LiveView,
  noObject,
  noObjects,
  unknownClientStatus,
  unknownStatus,
  type ObjectsValue,
  type ObjectValue,
  type QueryOptions,
  type Scope,
  type Store,
  type ViewValue,
} from "./live.js";
import type { ClientStatus, CollectionStatus, KubeObject, Row, Selectors, Status } from "./types.js";

export type { ObjectsValue, ObjectValue, QueryOptions, Scope, ViewValue } from "./live.js";

const ClientContext = createContext<WatchglassClient | undefined>(undefined);

/**
 * Provides a client to all components below it. The program creates the client once, with
 * `createClient`.
 */
export function WatchglassProvider({ client, children }: { client: WatchglassClient; children?: ReactNode }): ReactElement {
  return createElement(ClientContext.Provider, { value: client }, children);
}

/** Returns the client of the nearest provider. Throws if there is none. */
export function useWatchglass(): WatchglassClient {
  const client = useContext(ClientContext);
  if (!client) throw new Error("there is no WatchglassProvider above this component; wrap the application in one");
  return client;
}

interface Updated<Args extends unknown[]> {
  update(...args: Args): void;
  stop(): void;
}

/**
 * Returns the value of a store, and keeps the store open while the component is mounted. The store
 * is updated only if the JSON of the arguments changes, so options may be inline objects.
 */
function useLive<Value, Args extends unknown[]>(make: (client: WatchglassClient) => Store<Value> & Updated<Args>, initial: Value, ...args: Args): Value {
  const client = useWatchglass();
  const [live, setLive] = useState(() => ({ client, store: make(client) }));
  if (live.client !== client) setLive({ client, store: make(client) });
  const { store } = live;
  const key = JSON.stringify(args);
  useEffect(() => store.update(...(JSON.parse(key) as Args)), [store, key]);
  useEffect(() => () => store.stop(), [store]);
  return useSyncExternalStore(store.subscribe, store.get, () => initial);
}

/**
 * Returns the live rows of a resource: a sorted window of the matching objects.
 *
 * The component renders again when the window, its total, its facets or its state changes, at most
 * once per animation frame. Unchanged rows remain the same JavaScript objects. On a server, and
 * until the first rows arrive, `view` is `loading`.
 */
export function useView(resource: string, options: QueryOptions = {}): ViewValue {
  return useLive((client) => new LiveView(client), emptyView, resource, options);
}

/**
 * Returns all matching objects of a resource, with their bodies decoded. For long tables, use
 * {@link useView}, which decodes no bodies.
 */
export function useWatch<T extends object = KubeObject>(resource: string, options: Selectors & { scope?: Scope } = {}): ObjectsValue<T> {
  return useLive((client) => new LiveObjects<T>(client), noObjects as ObjectsValue<T>, resource, options);
}

/** Returns one object. The key is "namespace/name", or "name" for cluster-scoped objects. */
export function useObject<T extends object = KubeObject>(resource: string, key: string): ObjectValue<T> {
  return useLive((client) => new LiveObject<T>(client), noObject as ObjectValue<T>, resource, key);
}

/**
 * Returns the status of a collection, and keeps the collection open while the component is mounted.
 */
export function useStatus(resource: string, scope: Scope = {}): CollectionStatus {
  return useLive((client) => new LiveStatus(client), unknown, resource, scope).status;
}

/**
 * Returns the combined status of everything that the client has open, for a page-wide indicator.
 * The hook connects the client.
 */
export function useClientStatus(): ClientStatus {
  return useLive((client) => new LiveClientStatus(client), unknownClientStatus).status;
}

const noRows: readonly Row[] = Object.freeze([]);

/**
 * Returns the rows that an index lists under a value, such as the pods of a node. The component
 * renders again when one of these rows changes. Without an indexer, the result is empty.
 */
export function useIndex<Name extends string>(indexer: Indexer<Name> | undefined, index: Name, value: string): readonly Row[] {
  const subscribe = useCallback((listener: () => void) => indexer?.subscribeIndex(index, value, listener) ?? (() => {}), [indexer, index, value]);
  return useSyncExternalStore(subscribe, () => indexer?.byIndex(index, value) ?? noRows, () => noRows);
}

const unknown = { status: unknownStatus };

/**
 * The argument of {@link useK8sWatchResource}. The argument selects one object if it contains a
 * name, or else a list of objects.
 */
export interface WatchK8sResource {
  /** The resource, for example "v1/pods" or "apps/v1/deployments". */
  resource: string;
  namespace?: string;
  name?: string;
  /** A label selector such as "app in (web,api)", or the members of a Kubernetes LabelSelector. */
  selector?: string | { matchLabels?: Record<string, string>; matchExpressions?: { key: string; operator: "In" | "NotIn" | "Exists" | "DoesNotExist"; values?: string[] }[] };
}

/** The data of {@link useK8sWatchResource} until the objects are loaded. */
const nothing = Object.freeze({ list: Object.freeze([]), object: Object.freeze({}) });

/**
 * Returns `[data, loaded, error]`, like the hook with the same name in the OpenShift console. The
 * argument differs: `resource` replaces `groupVersionKind`, and `name` replaces `isList`. As in the
 * console, the data is `[]` or `{}` until it is loaded, and the argument `null` opens nothing and
 * returns `[undefined, true, undefined]`. If the named object does not exist, the data is undefined.
 */
export function useK8sWatchResource<T extends object = KubeObject | KubeObject[]>(watched: WatchK8sResource | null): [data: T, loaded: boolean, error: Status | undefined] {
  const client = useWatchglass();
  const { resource, namespace = "", name, selector }: WatchK8sResource = watched ?? { resource: "" };
  type Watched = Store<ObjectsValue | ObjectValue> & Updated<[resource: string, namespace: string, name: string | undefined, labelSelector: string]>;
  const make = (): Watched => {
    const one = new LiveObject(client);
    const all = new LiveObjects(client);
    let current: LiveObject | LiveObjects = all;
    return {
      get: () => current.get(),
      subscribe(listener) {
        const stops = [one.subscribe(listener), all.subscribe(listener)];
        return () => stops.forEach((stop) => stop());
      },
      update(resource, namespace, name, labelSelector) {
        if (!resource) (one.stop(), all.stop());
        else if (name) (all.stop(), (current = one), one.update(resource, namespace ? `${namespace}/${name}` : name));
        else (one.stop(), (current = all), all.update(resource, { namespace, labelSelector }));
      },
      stop: () => (one.stop(), all.stop()),
    };
  };
  const initial = name ? noObject : noObjects;
  const live = useLive<ObjectsValue | ObjectValue, [string, string, string | undefined, string]>(make, initial, resource, namespace, name, labelSelectorOf(selector));
  if (!watched) return [undefined as unknown as T, true, undefined];
  // When an object replaces a list or the reverse, the store still has the value of the other.
  const value = "objects" in live === "objects" in initial ? live : initial;
  if ("objects" in value) return [(value.loaded ? value.objects : nothing.list) as T, value.loaded, value.error];
  return [(value.exists === undefined ? nothing.object : value.object) as T, value.exists !== undefined, value.error];
}

function labelSelectorOf(selector: WatchK8sResource["selector"]): string {
  if (selector === undefined || typeof selector === "string") return selector ?? "";
  const terms = Object.entries(selector.matchLabels ?? {}).map(([key, value]) => `${key}=${value}`);
  for (const { key, operator, values = [] } of selector.matchExpressions ?? []) {
    const term = { In: `${key} in (${values.join(",")})`, NotIn: `${key} notin (${values.join(",")})`, Exists: key, DoesNotExist: `!${key}` }[operator];
    if (!term) throw new Error(`the selector's operator is "${operator}"; expected In, NotIn, Exists or DoesNotExist`);
    terms.push(term);
  }
  return terms.join(",");
}
