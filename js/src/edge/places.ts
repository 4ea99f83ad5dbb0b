import type { Status } from "../types.js";
import { status } from "./refusal.js";

// Which object has what, as host/edge tells it. The file testdata/edge/places.json
// holds both to the same places.

/** The cluster of requests that name none. */
export const defaultCluster = "default";

/** An object that holds some resources, or with none named all that the shards before it do not hold. */
export interface Shard {
  name: string;
  resources?: string[];
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

/**
 * The name of the object that holds all of some resources; without any it is the
 * first one of the cluster.
 */
export function place(clusters: Clusters, cluster: string, resources: readonly string[]): string | Status {
  const spread = Object.hasOwn(clusters, cluster) ? clusters[cluster] : undefined;
  if (!spread) return status(404, "NotFound", `there is no cluster ${JSON.stringify(cluster)} at this edge`);
  const shards = spread.shards?.length ? spread.shards : [{ name: "all" }];
  const found = new Map<string, string>();
  for (const resource of resources) {
    const shard = shards.find(({ resources }) => !resources?.length || resources.includes(resource));
    if (!shard) return status(404, "NotFound", `resource ${resource} is not kept at this edge`);
    found.set(shard.name, resource);
  }
  if (found.size > 1) {
    return status(400, "BadRequest", `${[...found.values()].join(" and ")} are kept in different objects of this edge: connect once for each`);
  }
  const [name = shards[0]!.name] = found.keys();
  return `${cluster}/${name}`;
}
