/** The engine's statistics of one collection, by name. */
export type CollectionMetrics = Record<string, number>;

/** The statistics of an engine, grouped by collection. */
export interface Metrics {
  /** The statistics of each collection, by ID. Collections of other pages are included. */
  collections: Map<number, CollectionMetrics>;
  /** The statistics of the engine itself. */
  engine: Record<string, number>;
}

export const noMetrics: Metrics = { collections: new Map(), engine: {} };

/** Groups the result of {@link Watchglass.inspect}. */
export function group(inspected: Record<string, number>): Metrics {
  const metrics: Metrics = { collections: new Map(), engine: {} };
  for (const [name, value] of Object.entries(inspected)) {
    const [, id, rest] = /^collection\.(\d+)\.(.*)$/.exec(name) ?? [];
    if (id === undefined) {
      metrics.engine[name] = value;
      continue;
    }
    const one = metrics.collections.get(Number(id)) ?? {};
    one[rest!] = value;
    metrics.collections.set(Number(id), one);
  }
  return metrics;
}

/**
 * Returns the sum of a statistic over all collections. Collections that share a subscription all
 * report the same number, which is counted once.
 */
export function total({ collections }: Metrics, name: string): number {
  let sum = 0;
  for (const one of collections.values()) sum += (one[name] ?? 0) / Math.max(1, one["sharedBy"] ?? 1);
  return Math.round(sum);
}
