import type { Status } from "../types.js";
import { status } from "./refusal.js";

// Which object has what, as host/edge tells it. The file testdata/edge/places.json
// holds both to the same places.

/** The cluster of requests that name none. */
const defaultCluster = "default";

/** What holds some resources, or with none named all that the shards before it do not hold: one object, or several with a part of the namespaces each. */
export interface Shard {
  name: string;
  resources?: string[];
  namespaceShards?: number;
}

/**
 * The clusters of an edge. A cluster without shards is in one object. Regions are
 * how many objects in each part of the world serve the readers of each shard.
 */
export type Clusters = Record<string, { shards?: Shard[]; regions?: number }>;

/** Reads the configuration, which host/edge checks. Nothing at all is one cluster in one object. */
export function parseClusters(text: string | undefined): Clusters {
  return text ? (JSON.parse(text) as Clusters) : { [defaultCluster]: {} };
}

/** What a path leads to. */
export interface Route {
  cluster: string;
  rest: string;
}

/** Takes the cluster from the front of a path. */
export function route(path: string): Route {
  const [, cluster, rest] = /^\/clusters\/([^/]*)(.*)$/s.exec(path) ?? [];
  return cluster === undefined ? { cluster: defaultCluster, rest: path } : { cluster, rest: rest || "/" };
}

/** What somebody comes for. */
export interface Wanted {
  resources: readonly string[];
  /** One namespace, where an object has not all of them. */
  namespace?: string | null;
  /** Or all of a part of them, such as "3-of-16". */
  part?: string | null;
}

/** Where that is. */
export interface Place {
  /** The object's name. */
  object: string;
  /** Which part of the namespaces it has; nothing for all. */
  part?: string;
}

/** The object that holds what somebody comes for; without resources that is of the cluster's first shard. */
export function place(clusters: Clusters, cluster: string, { resources, namespace, part }: Wanted): Place | Status {
  const found = shardsOf(clusters, cluster, resources);
  if ("code" in found) return found;
  if (found.size > 1) {
    const each = [...found.values()].map(([resource]) => resource);
    return status(400, "BadRequest", `${each.join(" and ")} are kept in different objects of this edge: connect once for each`);
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

/** What a connector brings to one object, as it says so in its URL. */
export interface Feeding {
  resources: string[];
  shard?: string;
}

/** Every object that a connector of some resources has to feed. */
export function feeds(clusters: Clusters, cluster: string, resources: readonly string[]): Feeding[] | Status {
  const found = shardsOf(clusters, cluster, resources);
  if ("code" in found) return found;
  return [...found].flatMap(([{ namespaceShards: count = 0 }, resources]) =>
    count === 0 ? [{ resources }] : Array.from({ length: count }, (_, i) => ({ resources, shard: `${i}-of-${count}` })));
}

/** The shards of some resources, and which of these each has; of none it is the first shard. */
function shardsOf(clusters: Clusters, cluster: string, resources: readonly string[]): Map<Shard, string[]> | Status {
  const spread = Object.hasOwn(clusters, cluster) ? clusters[cluster] : undefined;
  if (!spread) return status(404, "NotFound", `there is no cluster ${JSON.stringify(cluster)} at this edge`);
  const shards: Shard[] = spread.shards?.length ? spread.shards : [{ name: "all" }];
  if (resources.length === 0) return new Map([[shards[0]!, []]]);
  const found = new Map<Shard, string[]>();
  for (const resource of resources) {
    const shard = shards.find(({ resources }) => !resources?.length || resources.includes(resource));
    if (!shard) return status(404, "NotFound", `resource ${resource} is not kept at this edge`);
    found.set(shard, [...(found.get(shard) ?? []), resource]);
  }
  return found;
}

/** The part that a namespace is in, of so many. The hash is FNV-1a of 32 bits. */
export function partOf(namespace: string, count: number): string {
  let hash = 2166136261;
  for (const byte of new TextEncoder().encode(namespace)) hash = Math.imul(hash ^ byte, 16777619);
  return `${(hash >>> 0) % count}-of-${count}`;
}

/** Whether a text names one of so many parts. */
export function isPart(text: string, count: number): boolean {
  const [, index] = /^(0|[1-9]\d*)-of-/.exec(text) ?? [];
  return index !== undefined && Number(index) < count && text === `${index}-of-${count}`;
}

/** Whether a namespace is in a part. */
export function inPart(namespace: string, part: string): boolean {
  return partOf(namespace, Number(part.slice(part.lastIndexOf("-") + 1))) === part;
}
