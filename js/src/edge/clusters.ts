import type { Status } from "../types.js";
import { status } from "./refusal.js";

// This module maps resources to objects as host/edge does. The tests of both packages read
// testdata/edge/clusters.json.

/** The cluster of requests that do not name one. */
const defaultCluster = "default";

/**
 * A group of resources. A group that names no resources contains all resources that no earlier
 * group contains. A group is stored in one object, or in several objects that each store one shard
 * of the namespaces.
 */
export interface Group {
  name: string;
  resources?: string[];
  shards?: number;
}

/**
 * The clusters of an edge. A cluster without groups is stored in one object. `regions` is the
 * number of regional objects per continent that serve the readers of each object; zero for none.
 */
export type Clusters = Record<string, { groups?: Group[]; regions?: number }>;

/**
 * Parses the configuration, which host/edge validates. Without a configuration, there is one
 * cluster in one object.
 */
export function parseClusters(text: string | undefined): Clusters {
  return text ? (JSON.parse(text) as Clusters) : { [defaultCluster]: {} };
}

/** A path, split into its cluster and the rest. */
export interface Route {
  cluster: string;
  rest: string;
}

/** Splits a path into its cluster and the rest. Without a cluster, returns the default cluster. */
export function route(path: string): Route {
  const [, cluster, rest] = /^\/clusters\/([^/]*)(.*)$/s.exec(path) ?? [];
  return cluster === undefined ? { cluster: defaultCluster, rest: path } : { cluster, rest: rest || "/" };
}

/** The data that a reader or a connector requests. */
export interface Wanted {
  resources: readonly string[];
  /** One namespace, if the objects store shards of the namespaces. */
  namespace?: string | null;
  /** A complete shard of the namespaces, such as "3-of-16". */
  shard?: string | null;
}

/** The object that stores the requested data. */
export interface EdgeObject {
  /** The object's name. */
  object: string;
  /** The shard of the namespaces that the object stores; undefined if the object stores all. */
  shard?: string;
}

/**
 * Returns the object that stores the requested data, or an error if there is none. If no resource
 * is requested, the object is in the cluster's first group.
 */
export function objectFor(clusters: Clusters, cluster: string, { resources, namespace, shard }: Wanted): EdgeObject | Status {
  const found = groupsOf(clusters, cluster, resources);
  if ("code" in found) return found;
  if (found.size > 1) {
    const each = [...found.values()].map(([resource]) => resource);
    return status(400, "BadRequest", `${each.join(" and ")} belong to different objects of this edge: connect once for each`);
  }
  const [{ name, shards: count = 0, resources: held = [] }] = found.keys() as Iterable<Group> as [Group];
  const resource = resources[0] ?? held[0];
  if (count === 0) {
    if (!shard) return { object: `${cluster}/${name}` };
    return status(404, "NotFound", `${resource} is not divided by namespace at this edge, so there is no shard ${shard}: connect without`);
  }
  const divided = `${resource} is divided by namespace over ${count} objects of this edge, 0-of-${count} to ${count - 1}-of-${count}`;
  if (shard && !isShard(shard, count)) return status(404, "NotFound", `there is no shard ${shard}: ${divided}`);
  const which = shard || (namespace && shardOf(namespace, count));
  if (!which) return status(400, "BadRequest", `${divided}: connect with ?resource=${resource}&namespace=NAME, or once for each of them with &shard=`);
  return { object: `${cluster}/${name}/${which}`, shard: which };
}

/** The URL parameters of a connector that feeds an object. */
export interface Feeding {
  resources: string[];
  shard?: string;
}

/** Returns the URL parameters for every object that a connector of these resources must feed. */
export function feeds(clusters: Clusters, cluster: string, resources: readonly string[]): Feeding[] | Status {
  const found = groupsOf(clusters, cluster, resources);
  if ("code" in found) return found;
  return [...found].flatMap(([{ shards: count = 0 }, resources]) =>
    count === 0 ? [{ resources }] : Array.from({ length: count }, (_, i) => ({ resources, shard: `${i}-of-${count}` })));
}

/**
 * Returns the groups that contain these resources, each with the requested resources that it
 * contains. Without resources, returns the first group. Returns an error for an unknown cluster or
 * resource.
 */
function groupsOf(clusters: Clusters, cluster: string, resources: readonly string[]): Map<Group, string[]> | Status {
  const spread = Object.hasOwn(clusters, cluster) ? clusters[cluster] : undefined;
  if (!spread) return status(404, "NotFound", `there is no cluster ${JSON.stringify(cluster)} at this edge`);
  const groups: Group[] = spread.groups?.length ? spread.groups : [{ name: "all" }];
  if (resources.length === 0) return new Map([[groups[0]!, []]]);
  const found = new Map<Group, string[]>();
  for (const resource of resources) {
    const group = groups.find(({ resources }) => !resources?.length || resources.includes(resource));
    if (!group) return status(404, "NotFound", `this edge does not have the resource ${resource}`);
    found.set(group, [...(found.get(group) ?? []), resource]);
  }
  return found;
}

/** Returns the shard that contains a namespace. The hash is 32-bit FNV-1a. */
export function shardOf(namespace: string, count: number): string {
  let hash = 2166136261;
  for (const byte of new TextEncoder().encode(namespace)) hash = Math.imul(hash ^ byte, 16777619);
  return `${(hash >>> 0) % count}-of-${count}`;
}

/** Reports whether a string names one of `count` shards. */
export function isShard(text: string, count: number): boolean {
  const [, index] = /^(0|[1-9]\d*)-of-/.exec(text) ?? [];
  return index !== undefined && Number(index) < count && text === `${index}-of-${count}`;
}

/** Reports whether a namespace belongs to a shard. */
export function inShard(namespace: string, shard: string): boolean {
  return shardOf(namespace, Number(shard.slice(shard.lastIndexOf("-") + 1))) === shard;
}
