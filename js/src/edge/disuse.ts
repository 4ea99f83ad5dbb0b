import type { ObjectStorage } from "./platform.js";

/** Remembers since when nobody has had any use for an object, also while it is out of memory. */
export class Disuse {
  readonly #storage: ObjectStorage;
  #since: number;

  constructor(storage: ObjectStorage) {
    this.#storage = storage;
    storage.sql.exec("CREATE TABLE IF NOT EXISTS disuse (since INTEGER)");
    this.#since = storage.sql.exec<{ since: number }>("SELECT since FROM disuse").toArray()[0]?.since ?? 0;
  }

  /** In milliseconds since the epoch; zero while somebody has. */
  get since(): number {
    return this.#since;
  }

  /** Whether somebody has. Costs a row where that is news. */
  note(used: boolean, now: number): void {
    if (used !== (this.#since === 0)) this.#set(used ? 0 : now);
  }

  /** Somebody had, and that was all. */
  again(now: number): void {
    if (this.#since !== 0) this.#set(now);
  }

  #set(since: number): void {
    this.#since = since;
    this.#storage.transactionSync(() => {
      this.#storage.sql.exec("DELETE FROM disuse");
      if (since !== 0) this.#storage.sql.exec("INSERT INTO disuse VALUES (?)", since);
    });
  }
}
