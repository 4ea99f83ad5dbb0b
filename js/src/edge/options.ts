/** What may be set of an object; every zero takes the default. */
export interface EdgeOptions {
  /** How often readers are told that nothing is missing, which wakes the object; default 60,000. They call the data stale after three such periods without. */
  progressMillis?: number;
  /** Bytes of memory for objects, of the 128 MB that an isolate has; default 32 MiB. */
  memoryBytes?: number;
}

export type Settings = Required<EdgeOptions>;

const defaults: Settings = {
  progressMillis: 60_000,
  memoryBytes: 32 << 20,
};

export function withDefaults(options: EdgeOptions): Settings {
  const settings = { ...defaults };
  for (const name of Object.keys(defaults) as (keyof Settings)[]) settings[name] = options[name] || defaults[name];
  return settings;
}
