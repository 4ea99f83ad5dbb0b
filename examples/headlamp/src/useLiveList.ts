import { K8s } from "@kinvolk/headlamp-plugin/lib";
import { useMemo } from "react";
import { objectsStore, type ObjectsValue } from "watchglass/stores";
import { clientOf } from "./clients";
import { useStores } from "./stores";

/** The options of Headlamp's `useList` that this hook supports. */
export interface LiveListOptions {
  cluster?: string;
  clusters?: string[];
  namespace?: string | string[];
  labelSelector?: string;
  fieldSelector?: string;
}

/** The error that Headlamp's components display. */
export interface ListError extends Error {
  status: number;
  cluster: string;
}

/** The result for one cluster, as in Headlamp's `useList`. */
export interface ListResult<K> {
  items: K[] | null;
  error: ListError | null;
  errors: ListError[] | null;
  isLoading: boolean;
  isFetching: boolean;
  isSuccess: boolean;
  isError: boolean;
  status: "pending" | "success" | "error";
}

/**
 * The result of Headlamp's `useList`, without `data`, whose format is internal to Headlamp's cache.
 */
export type LiveList<K> = [items: K[] | null, error: ListError | null] & ListResult<K> & { clusterResults: Record<string, ListResult<K>> };

interface KubeClass<K> {
  new (json: any, cluster?: string): K;
  readonly apiName: string;
  readonly apiVersion: string | string[];
  readonly isNamespaced: boolean;
}

/**
 * Returns the live objects of a class. `useLiveList(Pod, options)` replaces Headlamp's
 * `Pod.useList(options)`. All components with the same class and cluster share one watch. The watch
 * resumes after a lost connection. An unchanged object keeps its instance.
 */
export function useLiveList<K>(kubeClass: KubeClass<K>, options: LiveListOptions = {}): LiveList<K> {
  const { cluster, clusters, namespace, labelSelector, fieldSelector } = options;
  const selected = K8s.useSelectedClusters();
  const names = cluster ? [cluster] : clusters ?? (selected.length > 0 ? selected : [""]);
  const namespaces = kubeClass.isNamespaced ? [namespace ?? []].flat() : [];
  const version = [kubeClass.apiVersion].flat()[0]!;
  const parts = names.flatMap((name) => (namespaces.length > 0 ? namespaces : [undefined]).map((namespace) => ({ name, namespace })));
  const resource = `${version}/${kubeClass.apiName}`;
  const key = JSON.stringify([resource, parts, labelSelector, fieldSelector]);
  const values = useStores(key, () =>
    parts.map(({ name, namespace }) => objectsStore<object>(clientOf(name), resource, { scope: { namespace, labelSelector, fieldSelector } })),
  );
  // eslint-disable-next-line react-hooks/exhaustive-deps
  return useMemo(() => combine(kubeClass, parts.map(({ name }) => name), values), [kubeClass, key, values]);
}

function combine<K>(kubeClass: KubeClass<K>, clusters: string[], values: readonly ObjectsValue<object>[]): LiveList<K> {
  const names = [...new Set(clusters)];
  const results = names.map((name) => resultOf(kubeClass, name, values.filter((_, i) => clusters[i] === name)));
  const all = merge(results);
  const clusterResults = Object.fromEntries(results.map((result, i) => [names[i], result]));
  return Object.assign([all.items, all.error] as [K[] | null, ListError | null], all, { clusterResults });
}

function resultOf<K>(kubeClass: KubeClass<K>, cluster: string, values: readonly ObjectsValue<object>[]): ListResult<K> {
  const errors = values.flatMap(({ error, loaded }) => (error && !loaded ? [errorOf(error, cluster)] : []));
  const loaded = values.filter((value) => value.loaded);
  const items = loaded.length > 0 ? loaded.flatMap(({ objects }) => objects.map((json) => instance(kubeClass, json, cluster))) : null;
  return result(items, errors, values.length);
}

function merge<K>(results: ListResult<K>[]): ListResult<K> {
  const loaded = results.flatMap(({ items }) => (items ? [items] : []));
  return result(loaded.length > 0 ? loaded.flat() : null, results.flatMap(({ errors }) => errors ?? []), results.length);
}

function result<K>(items: K[] | null, errors: ListError[], parts: number): ListResult<K> {
  const failed = errors.length === parts;
  const status = items ? "success" : failed ? "error" : "pending";
  return {
    items,
    error: errors[0] ?? null,
    errors: errors.length > 0 ? errors : null,
    isLoading: status === "pending",
    isFetching: status === "pending",
    isSuccess: status === "success",
    isError: errors.length > 0,
    status,
  };
}

const errorOf = ({ code, message }: { code: number; message: string }, cluster: string): ListError => Object.assign(new Error(message), { status: code, cluster });

/**
 * The instances of `kubeClass` by decoded object, so that an unchanged object keeps its instance.
 */
const instances = new WeakMap<object, unknown>();

function instance<K>(kubeClass: KubeClass<K>, json: object, cluster: string): K {
  let made = instances.get(json) as K | undefined;
  if (!made) instances.set(json, (made = new kubeClass(json, cluster)));
  return made;
}
