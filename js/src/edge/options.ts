import type { Fetcher } from "./platform.js";

/** The options of an object. For every number, zero means the default. */
export interface EdgeOptions {
  /**
   * How often readers receive progress, which wakes the object; default 60,000. Readers
   * report stale data after three periods without progress.
   */
  progressMillis?: number;
  /** A reader that leaves data unread for this long is disconnected; default 60,000. */
  stallMillis?: number;
  /**
   * The maximum number of connected readers; default 4,096. Further ones are refused
   * with a 503. The platform allows 32,768 WebSockets per object, including those of
   * connectors, so the maximum is 32,000.
   */
  maxReaders?: number;
  /**
   * The sustained rate of messages per reader; default 100. A burst of ten times
   * this number is allowed. A message counts once more for each 4 KiB and for each subscription. A
   * reader that exceeds the rate is disconnected with a 429.
   */
  messagesPerSecond?: number;
  /**
   * Bytes of memory for objects; default 32 MiB. A resource that needs more is held
   * without bodies until an object has more memory. If it needs more even without bodies,
   * it is dropped.
   */
  memoryBytes?: number;
  /**
   * Bytes of the isolate's 128 MB for the module, its garbage and unread output; default
   * 96 MiB. If unread output of readers exceeds the limit, the slowest are disconnected
   * with a 429. If the module and HTTP responses exceed it, the object replaces the
   * instance of the module. If that does not suffice, it drops data as if it had
   * exceeded memoryBytes.
   */
  isolateBytes?: number;
  /**
   * Bytes of storage; default 1 GiB, of 10 GB per object. States beyond that are held in
   * memory only.
   */
  storageBytes?: number;
  /**
   * The delay after which changes are stored if no other change follows, default 1000.
   * During continuous changes, they are stored at least every keepMillis, default 10,000.
   */
  quietMillis?: number;
  keepMillis?: number;
  /**
   * An object that was neither fed nor read for this long deletes its storage; default 7
   * days. This also removes the objects of a former division of the cluster.
   */
  unusedMillis?: number;
  /** The object to read from, instead of being fed. */
  upstream?: Upstream | undefined;
}

/** Another object, which is read while this one has readers. */
export interface Upstream {
  /**
   * Finds the object. Called for every connection, because a stub stays broken after a
   * failure.
   */
  object(): Fetcher;
  cluster: string;
  /** Empty if the upstream object no longer exists. Readers are then refused. */
  resources: string[];
  /** The shard of the namespaces that the object holds; undefined for all. */
  shard?: string;
}

export type Settings = Required<EdgeOptions>;

/** The platform's maximum number of WebSockets per object, minus some for connectors. */
const mostReaders = 32_000;

const defaults: Settings = {
  progressMillis: 60_000,
  stallMillis: 60_000,
  maxReaders: 4_096,
  messagesPerSecond: 100,
  memoryBytes: 32 << 20,
  isolateBytes: 96 << 20,
  storageBytes: 1 << 30,
  quietMillis: 1_000,
  keepMillis: 10_000,
  unusedMillis: 7 * 24 * 60 * 60 * 1000,
  upstream: undefined,
};

export function withDefaults(options: EdgeOptions): Settings {
  const settings = { ...defaults, upstream: options.upstream };
  for (const name of ["progressMillis", "stallMillis", "maxReaders", "messagesPerSecond", "memoryBytes", "isolateBytes", "storageBytes", "quietMillis", "keepMillis", "unusedMillis"] as const) {
    settings[name] = options[name] || defaults[name];
  }
  if (settings.maxReaders > mostReaders) {
    throw new RangeError(`maxReaders is ${settings.maxReaders}, expected at most ${mostReaders}: the platform has 32,768 WebSockets for an object`);
  }
  return settings;
}
