import type { Status } from "../types.js";
import { status } from "./refusal.js";

// The mapping from resources to objects, as in host/edge. The tests of both read
// testdata/edge/places.json.

/** The cluster of requests without a cluster name. */
const defaultCluster = "default";

/**
 * The resources of a shard. If none are named, the shard has all resources that no
 * earlier shard has. A shard is one object, or several that each hold a part of the
 * namespaces.
 */
export interface Shard {
  name: string;
  resources?: string[];
  namespaceShards?: number;
}

/**
 * The clusters of an edge. A cluster without shards is held in one object. `regions` is
 * the number of objects per part of the world that serve the readers of each shard.
 */
export type Clusters = Record<string, { shards?: Shard[]; regions?: number }>;

/**
 * Parses the configuration, which host/edge validates. Without one, there is one cluster
 * in one object.
 */
export function parseClusters(text: string | undefined): Clusters {
  return text ? (JSON.parse(text) as Clusters) : { [defaultCluster]: {} };
}

/** A path without its cluster. */
export interface Route {
  cluster: string;
  rest: string;
}

/** Removes the cluster from the start of a path. */
export function route(path: string): Route {
  const [, cluster, rest] = /^\/clusters\/([^/]*)(.*)$/s.exec(path) ?? [];
  return cluster === undefined ? { cluster: defaultCluster, rest: path } : { cluster, rest: rest || "/" };
}

/** The data that a reader or a connector requests. */
export interface Wanted {
  resources: readonly string[];
  /** One namespace, if the objects hold parts of the namespaces. */
  namespace?: string | null;
  /** A complete part of them, such as "3-of-16". */
  part?: string | null;
}

/** The object that holds the requested data. */
export interface Place {
  /** The object's name. */
  object: string;
  /** The part of the namespaces that it holds; undefined for all. */
  part?: string;
}

/**
 * Returns the object that holds the requested data. Without resources, it is in the
 * cluster's first shard.
 */
export function place(clusters: Clusters, cluster: string, { resources, namespace, part }: Wanted): Place | Status {
  const found = shardsOf(clusters, cluster, resources);
  if ("code" in found) return found;
  if (found.size > 1) {
    const each = [...found.values()].map(([resource]) => resource);
    return status(400, "BadRequest", `${each.join(" and ")} belong to different objects of this edge: connect once for each`);
  }
  const [{ name, namespaceShards: count = 0, resources: held = [] }] = found.keys() as Iterable<Shard> as [Shard];
  const resource = resources[0] ?? held[0];
  if (count === 0) {
    if (!part) return { object: `${cluster}/${name}` };
    return status(404, "NotFound", `${resource} is not divided by namespace at this edge, so there is no shard ${part}: connect without`);
  }
  const divided = `${resource} is divided by namespace over ${count} objects of this edge, 0-of-${count} to ${count - 1}-of-${count}`;
  if (part && !isPart(part, count)) return status(404, "NotFound", `there is no shard ${part}: ${divided}`);
  const which = part || (namespace && partOf(namespace, count));
  if (!which) return status(400, "BadRequest", `${divided}: connect with ?resource=${resource}&namespace=NAME, or once for each of them with &shard=`);
  return { object: `${cluster}/${name}/${which}`, part: which };
}

/** The URL parameters of a connector that feeds an object. */
export interface Feeding {
  resources: string[];
  shard?: string;
}

/** Returns every object that a connector of these resources must feed. */
export function feeds(clusters: Clusters, cluster: string, resources: readonly string[]): Feeding[] | Status {
  const found = shardsOf(clusters, cluster, resources);
  if ("code" in found) return found;
  return [...found].flatMap(([{ namespaceShards: count = 0 }, resources]) =>
    count === 0 ? [{ resources }] : Array.from({ length: count }, (_, i) => ({ resources, shard: `${i}-of-${count}` })));
}

/**
 * Returns the shards of these resources, each with its own resources. Without resources,
 * returns the first shard.
 */
function shardsOf(clusters: Clusters, cluster: string, resources: readonly string[]): Map<Shard, string[]> | Status {
  const spread = Object.hasOwn(clusters, cluster) ? clusters[cluster] : undefined;
  if (!spread) return status(404, "NotFound", `there is no cluster ${JSON.stringify(cluster)} at this edge`);
  const shards: Shard[] = spread.shards?.length ? spread.shards : [{ name: "all" }];
  if (resources.length === 0) return new Map([[shards[0]!, []]]);
  const found = new Map<Shard, string[]>();
  for (const resource of resources) {
    const shard = shards.find(({ resources }) => !resources?.length || resources.includes(resource));
    if (!shard) return status(404, "NotFound", `this edge does not have the resource ${resource}`);
    found.set(shard, [...(found.get(shard) ?? []), resource]);
  }
  return found;
}

/** Returns the part that contains a namespace. The hash is 32-bit FNV-1a. */
export function partOf(namespace: string, count: number): string {
  let hash = 2166136261;
  for (const byte of new TextEncoder().encode(namespace)) hash = Math.imul(hash ^ byte, 16777619);
  return `${(hash >>> 0) % count}-of-${count}`;
}

/** Reports whether a text names one of `count` parts. */
export function isPart(text: string, count: number): boolean {
  const [, index] = /^(0|[1-9]\d*)-of-/.exec(text) ?? [];
  return index !== undefined && Number(index) < count && text === `${index}-of-${count}`;
}

/** Reports whether a namespace belongs to a part. */
export function inPart(namespace: string, part: string): boolean {
  return partOf(namespace, Number(part.slice(part.lastIndexOf("-") + 1))) === part;
}
