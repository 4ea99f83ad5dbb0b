/** The length of an allowed burst, in seconds of the sustained rate. */
const burstSeconds = 10;
/**
 * A message counts as one, plus one for each complete unit of this size in bytes. A connector
 * counts in the same way.
 */
const unitBytes = 4 << 10;

/** A rate limit for messages. */
export class TokenBucket {
  readonly #perSecond: number;
  #left: number;
  #at: number;

  constructor(perSecond: number, now: number) {
    this.#perSecond = perSecond;
    this.#left = perSecond * burstSeconds;
    this.#at = now;
  }

  /**
   * Counts a message of this size with this number of subscriptions. Reports whether the message is
   * within the limit.
   */
  allows(bytes: number, subscriptions: number, now: number): boolean {
    this.#left = Math.min(this.#left + (Math.max(0, now - this.#at) / 1000) * this.#perSecond, this.#perSecond * burstSeconds);
    this.#at = now;
    this.#left -= 1 + Math.floor(bytes / unitBytes) + subscriptions;
    return this.#left >= 0;
  }
}
