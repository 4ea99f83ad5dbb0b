import type { ObjectStorage } from "./platform.js";

/** The names of the counters, which host/edge reports as metrics. */
type Counter = "readersStalled" | "readersRateLimited" | "restarts";

/** Counters of rare events. They are in the object's storage, so they survive hibernation. */
export class Counters {
  readonly #storage: ObjectStorage;

  constructor(storage: ObjectStorage) {
    this.#storage = storage;
    storage.sql.exec("CREATE TABLE IF NOT EXISTS counters (name TEXT PRIMARY KEY, value INTEGER)");
  }

  add(name: Counter): void {
    this.#storage.sql.exec("INSERT INTO counters VALUES (?, 1) ON CONFLICT (name) DO UPDATE SET value = value + 1", name);
  }

  get all(): Record<string, number> {
    const rows = this.#storage.sql.exec<{ name: string; value: number }>("SELECT * FROM counters ORDER BY name");
    return Object.fromEntries(rows.toArray().map(({ name, value }) => [name, value]));
  }
}
