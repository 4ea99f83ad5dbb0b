import type { ObjectStorage } from "./platform.js";

/** Times that are nearer than this are waited for in memory: an alarm costs a write. */
const nearMillis = 5_000;

/** Calls a function at a time, though the object is taken out of memory until then. */
export class Alarm {
  readonly #storage: ObjectStorage;
  readonly #act: () => void;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** When the stored alarm goes off; undefined when that is not known. */
  #stored: number | undefined;
  /** Zero for never. */
  #due = 0;

  constructor(storage: ObjectStorage, act: () => void) {
    this.#storage = storage;
    this.#act = act;
  }

  /** The newest time counts; zero is never. */
  at(millis: number): void {
    clearTimeout(this.#timer);
    this.#due = millis;
    if (millis === 0) return; // one that goes off for nothing does no harm
    const now = Date.now();
    if (millis - now < nearMillis) {
      this.#timer = setTimeout(this.#act, Math.max(0, millis - now));
      return;
    }
    // One that goes off too early is set again then, so it is written once a period and not with each message.
    if (this.#stored !== undefined && this.#stored > now && this.#stored <= millis) return;
    this.#stored = millis;
    void this.#storage.setAlarm(millis);
  }

  /** The stored alarm went off. */
  fired(): void {
    this.#stored = undefined;
    this.#act();
    if (this.#stored === undefined && this.#due > Date.now()) this.at(this.#due);
  }
}
