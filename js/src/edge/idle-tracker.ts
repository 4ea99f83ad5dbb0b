import type { ObjectStorage } from "./platform.js";

/** Records when an object became unused. The record survives hibernation. */
export class IdleTracker {
  readonly #storage: ObjectStorage;
  #since: number;

  constructor(storage: ObjectStorage) {
    this.#storage = storage;
    storage.sql.exec("CREATE TABLE IF NOT EXISTS disuse (since INTEGER)");
    this.#since = storage.sql.exec<{ since: number }>("SELECT since FROM disuse").toArray()[0]?.since ?? 0;
  }

  /**
   * The time at which the current unused period began, in milliseconds since the epoch; zero while
   * the object is in use.
   */
  get since(): number {
    return this.#since;
  }

  /** Records whether the object is in use. Writes a row only on a change. */
  note(used: boolean, now: number): void {
    if (used !== (this.#since === 0)) this.#set(used ? 0 : now);
  }

  /**
   * Restarts the unused period, if there is one, after a use that has already ended, such as a
   * request.
   */
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
