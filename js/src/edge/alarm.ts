import type { ObjectStorage } from "./platform.js";

/**
 * The maximum delay for which a timer is used instead of an alarm, in milliseconds. The runtime
 * keeps an idle object in memory for about this time. An alarm costs a write, and wakes the object
 * even if the call is no longer needed.
 */
const nearMillis = 10_000;

/** Calls a function at given times, even if the runtime has removed the object from memory. */
export class Alarm {
  readonly #storage: ObjectStorage;
  readonly #act: () => void;
  readonly #wanted: (reason: string) => boolean;
  readonly #due = new Map<string, number>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** The time of the stored alarm; zero if unknown. */
  #stored = 0;

  /**
   * Creates an alarm that ignores a reason while `wanted` returns false for it. The caller must
   * call `at` again once `wanted` returns true.
   */
  constructor(storage: ObjectStorage, act: () => void, wanted: (reason: string) => boolean) {
    this.#storage = storage;
    this.#act = act;
    this.#wanted = wanted;
  }

  /**
   * Sets the time for a reason such as "expiry", in milliseconds since the epoch; zero for never.
   */
  at(reason: string, millis: number): void {
    this.#due.delete(reason);
    if (millis !== 0) this.#due.set(reason, millis);
    this.#arm();
  }

  /** Returns the time for a reason; zero for never. */
  due(reason: string): number {
    return this.#due.get(reason) ?? 0;
  }

  /** Handles the firing of the stored alarm. */
  fired(): void {
    this.#stored = 0;
    this.#act();
    this.#arm();
  }

  #arm(): void {
    clearTimeout(this.#timer);
    const wanted = [...this.#due].filter(([reason]) => this.#wanted(reason));
    if (wanted.length === 0) return; // a stored alarm may still fire, which is harmless
    const now = Date.now();
    const next = Math.min(...wanted.map(([, millis]) => millis));
    const near = next - now <= nearMillis;
    // Keep a stored alarm that fires no later than needed, and set it again when it fires. The
    // alarm is then written when it fires, not with every message.
    if (!near && this.#stored > now && this.#stored <= next) return;
    if (near) {
      this.#timer = setTimeout(() => this.#check(), Math.max(0, next - now));
      return;
    }
    this.#stored = next;
    void this.#storage.setAlarm(next);
  }

  #check(): void {
    this.#act();
    this.#arm();
  }
}
