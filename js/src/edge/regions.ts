import type { Upstream } from "./options.js";
import { isShard, parseClusters, type Clusters } from "./clusters.js";
import type { Fetcher } from "./platform.js";

// Regional objects are the second level of distribution. They read from the object that the
// connector feeds, which is their home, and serve readers near them. The name of a regional object
// consists of its home's name, the continent, and a number, as in "default/pods@weur-3". If the
// home stores a shard of the namespaces, the name is like "default/pods/0-of-16@weur-3".

/** The objects of one class. */
export interface Objects {
  idFromName(name: string): unknown;
  get(id: never, options?: { locationHint?: string }): Fetcher;
}

/** The location hints of the platform for each continent. */
const hints: Readonly<Record<string, string>> = { AF: "afr", AS: "apac", EU: "weur", NA: "enam", OC: "oc", SA: "sam" };

/**
 * Returns the regional object for a reader on a continent, if the cluster has regions. `random`, in
 * [0, 1), selects one of several.
 */
export function region(clusters: Clusters, home: string, continent: string | undefined, random: number): { name: string; hint: string | undefined } | undefined {
  const { regions = 0 } = clusters[home.slice(0, home.indexOf("/"))]!;
  if (regions === 0) return undefined;
  const hint = hints[continent ?? ""];
  return { name: `${home}@${hint ?? "any"}-${Math.floor(random * regions)}`, hint };
}

/**
 * Returns the upstream of the regional object with this name. The upstream has no resources if none
 * are configured for the home. It also has none if the home no longer exists, as after the cluster
 * was divided differently.
 */
export function upstreamOf(name: string | undefined, env: { WATCHGLASS: Objects; WATCHGLASS_CLUSTERS?: string }): Upstream {
  const [, home, cluster, group, shard = ""] = /^(([^/]*)\/([^/@]*)(?:\/([^@]*))?)@/.exec(name ?? "") ?? [];
  const { resources = [], shards: count = 0 } = (home && parseClusters(env.WATCHGLASS_CLUSTERS)[cluster!]?.groups?.find(({ name }) => name === group)) || {};
  const divided = count === 0 ? shard === "" : isShard(shard, count);
  const { WATCHGLASS: homes } = env;
  return { object: () => homes.get(homes.idFromName(home!) as never), cluster: cluster ?? "", resources: divided ? resources : [], shard };
}
