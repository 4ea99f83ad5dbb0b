/** Seconds of messages that may come at once, after as long without. */
const burstSeconds = 10;
/** A long message counts as one, and once more for each of these bytes, as at a connector. */
const unitBytes = 4 << 10;

/** How fast somebody may go on saying something. */
export class Pace {
  readonly #perSecond: number;
  #left: number;
  #at: number;

  constructor(perSecond: number, now: number) {
    this.#perSecond = perSecond;
    this.#left = perSecond * burstSeconds;
    this.#at = now;
  }

  /** Whether a message of so many bytes that opens so many subscriptions is not too much; it counts all the same. */
  allows(bytes: number, subscriptions: number, now: number): boolean {
    this.#left = Math.min(this.#left + (Math.max(0, now - this.#at) / 1000) * this.#perSecond, this.#perSecond * burstSeconds);
    this.#at = now;
    this.#left -= 1 + Math.floor(bytes / unitBytes) + subscriptions;
    return this.#left >= 0;
  }
}
