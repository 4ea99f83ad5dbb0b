import type { Fetcher } from "./platform.js";

/** What may be set of an object; every zero takes the default. */
export interface EdgeOptions {
  /** How often readers are told that nothing is missing, which wakes the object; default 60,000. They call the data stale after three such periods without. */
  progressMillis?: number;
  /** A reader that takes nothing for this long, while data waits for it, is sent away; default 60,000. */
  stallMillis?: number;
  /** Readers connected at a time; default 4,096. More are refused with a 503. The platform has 32,768 WebSockets for an object, those of connectors among them: up to 32,000 may be set. */
  maxReaders?: number;
  /** What one reader may say for as long as it likes; default 100. It may be ten seconds ahead, and a message counts once more for each 4 KiB and for each subscription. Who says more is sent away with a 429. */
  messagesPerSecond?: number;
  /** Bytes of memory for objects; default 32 MiB. A resource that needs more is held without bodies, until an object has more memory, and not at all if that needs more still. */
  memoryBytes?: number;
  /**
   * Bytes that the module, with its garbage, and what is being sent may take of the 128 MB that an isolate has; default
   * 96 MiB. Where what readers have not taken makes it more, the slowest are sent away with a 429. Where it is the module
   * and answers over HTTP, and a new instance of the module does not help, it is the same as without memory for objects.
   */
  isolateBytes?: number;
  /** Bytes of storage, of the 10 GB that an object has; default 1 GiB. What has no room there is held in memory alone. */
  storageBytes?: number;
  /** What changed is stored after this long without a change, default 1000; and while it goes on changing, this often, default 10,000. */
  quietMillis?: number;
  keepMillis?: number;
  /** What an object stores is deleted when nobody has fed it or read from it for this long; default 7 days. So it is with those of a former division of a cluster. */
  unusedMillis?: number;
  /** Where to read from, instead of being fed. */
  upstream?: Upstream | undefined;
}

/** Another object that is read from for as long as there are readers here. */
export interface Upstream {
  /** Finds the object, for every connection anew: what was found stays broken once the object has broken. */
  object(): Fetcher;
  cluster: string;
  /** None where there is nothing to read from any more: readers are refused then. */
  resources: string[];
  /** Which part of the namespaces the object has; nothing for all. */
  part?: string;
}

export type Settings = Required<EdgeOptions>;

/** WebSockets that the platform has for an object, less some for connectors. */
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
