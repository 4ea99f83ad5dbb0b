// The metrics of an object. host/edge/metrics.go defines their names. The values
// start at zero when the object enters memory, which Prometheus treats like the
// restart of a process.

/** Returns the bounds of a histogram's buckets in seconds, each four times the previous one. */
const bounds = (first: number, count: number): readonly number[] => Array.from({ length: count }, (_, i) => first * 4 ** i);

// The buckets are the same as a connector's; see host/metrics/timings.go.
const deliveryBounds = bounds(0.00025, 9);
const syncBounds = bounds(0.01, 8);
const listBounds = bounds(0.001, 8);

/** A histogram of durations in seconds. */
export class Histogram {
  readonly bounds: readonly number[];
  /**
   * The number of durations in each bucket. The last element counts the durations above all bounds.
   */
  readonly counts: number[];
  sum = 0;

  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
    this.counts = new Array(bounds.length + 1).fill(0);
  }

  /** Adds the duration since the time `start`, which is in milliseconds since the epoch. */
  since(start: number): void {
    const seconds = Math.max(0, Date.now() - start) / 1000;
    const bucket = this.bounds.findIndex((bound) => seconds <= bound);
    this.counts[bucket < 0 ? this.bounds.length : bucket]!++;
    this.sum += seconds;
  }
}

/** Counts for each value of a label. */
export type Tally = Record<string, number>;

/** Adds one to the count of a label. */
export function count(tally: Tally, label: string | number): void {
  tally[label] = (tally[label] ?? 0) + 1;
}

/** The metrics of a resource. */
export interface ResourceMetrics {
  /** Bytes of the connector's frames that contain Kubernetes objects. */
  bytes: number;
  /** Kubernetes objects that could not be served. */
  faults: number;
  readonly initialSync: Histogram;
}

/** The metrics of an object. They outlive an instance of the object's module. */
export class Metrics {
  /** Readers that have connected, including the refused ones. */
  connections = 0;
  /** Readers that were refused because there were too many. */
  refused = 0;
  /** Readers that were disconnected for a violation of the protocol. */
  malformed = 0;
  /** Messages to readers. `bytes` is the total size of these messages. */
  messages = 0;
  bytes = 0;
  /** Subscriptions that were refused or ended, by code. */
  readonly subscriptionErrors: Tally = { 410: 0 };
  /** Refusals by the cause in their status. host/edge ignores causes that are not limits. */
  readonly refusals: Tally = {};
  /** Ended requests of the Kubernetes API, by verb and code. */
  readonly requests = { get: {} as Tally, list: {} as Tally, watch: {} as Tally };
  readonly delivery = new Histogram(deliveryBounds);
  /** The durations of lists, by code. */
  readonly lists: Record<string, Histogram> = {};
  /** The resources that the object has held. Their number is limited by the configuration of connectors. */
  readonly resources: Record<string, ResourceMetrics> = {};

  resource(name: string): ResourceMetrics {
    return (this.resources[name] ??= { bytes: 0, faults: 0, initialSync: new Histogram(syncBounds) });
  }

  /**
   * Counts a request of the Kubernetes API that has ended. For a list, also records
   * its duration.
   */
  ended(verb: "get" | "list" | "watch", code: number, start: number): void {
    count(this.requests[verb], code);
    if (verb === "list") (this.lists[code] ??= new Histogram(listBounds)).since(start);
  }
}
