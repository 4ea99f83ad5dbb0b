import type { Fetcher } from "./platform.js";

/** The options of an object. For every number, zero means the default. */
export interface EdgeOptions {
  /**
   * The interval in milliseconds at which readers receive progress; default 60,000. Each progress
   * report wakes the object. Readers report stale data after three intervals without progress.
   */
  progressMillis?: number;
  /**
   * The time in milliseconds after which a reader that leaves data unread is disconnected; default
   * 60,000.
   */
  stallMillis?: number;
  /**
   * The maximum number of connected readers; default 4,096. Further readers are refused with a 503.
   * The platform allows 32,768 WebSockets per object, including those of connectors, so the maximum
   * is 32,000.
   */
  maxReaders?: number;
  /**
   * The sustained rate of messages per reader; default 100. A burst of ten times this number is
   * allowed. A message counts as one, plus one for each complete 4 KiB and for each subscription. A
   * reader that exceeds the rate is disconnected with a 429.
   */
  messagesPerSecond?: number;
  /**
   * The memory for objects, in bytes; default 32 MiB. A resource that needs more is held without
   * bodies, until this option or `isolateBytes` is raised. A resource that needs more even without
   * bodies is dropped.
   */
  memoryBytes?: number;
  /**
   * The part of the isolate's 128 MB for the module, its garbage and unread output, in bytes;
   * default 96 MiB. If unread output of readers exceeds the limit, the slowest readers are
   * disconnected with a 429. If the module and HTTP responses exceed the limit, the object replaces
   * the instance of the module. If a new instance does not suffice, the object drops data as if
   * memoryBytes were exceeded.
   */
  isolateBytes?: number;
  /**
   * The storage for states, in bytes; default 1 GiB. The platform allows 10 GB per object. States
   * that exceed the limit are held in memory only.
   */
  storageBytes?: number;
  /**
   * The delay in milliseconds after which changes are stored if no other change follows, default
   * 1000. If changes do not pause, they are stored at least every keepMillis, default 10,000.
   */
  quietMillis?: number;
  keepMillis?: number;
  /**
   * The time in milliseconds after which an object that is neither fed nor read deletes its
   * storage; default 7 days. This also removes objects that became unused because the cluster was
   * divided differently.
   */
  unusedMillis?: number;
  /** Another object that this object reads from. If set, connectors cannot feed this object. */
  upstream?: Upstream | undefined;
}

/**
 * The source of an object that no connector feeds. The object reads from the source only while
 * readers are connected to the object.
 */
export interface Upstream {
  /**
   * Returns a stub of the object. Called for every connection, because a stub stays broken after a
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
