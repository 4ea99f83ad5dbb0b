/**
 * The machine slept if the wall clock has advanced this much more than the monotonic clock, in
 * milliseconds.
 */
const sleepMillis = 10_000;
/**
 * The machine slept, or the browser froze the page, if a timer fires this late, in milliseconds.
 * The limit exceeds a minute, because browsers run the timers of hidden pages once a minute.
 */
const lateMillis = 90_000;

/**
 * The clock of an engine, in milliseconds since the epoch. Its readings never decrease. A wall
 * clock that is set back must not delay timeouts. A monotonic clock that stopped while the machine
 * slept must not hide stale data. Each reading therefore advances by the larger of the two clocks'
 * differences.
 */
export class Clock {
  /** The number of times that the clock has detected that the machine slept. */
  sleeps = 0;
  #wall = Date.now();
  #steady = performance.now();
  #now = this.#wall;

  now(): number {
    const wall = Date.now();
    const steady = performance.now();
    const [walked, steadily] = [wall - this.#wall, steady - this.#steady];
    if (walked - steadily > sleepMillis) this.sleeps++;
    this.#now += Math.max(0, walked, steadily);
    this.#wall = wall;
    this.#steady = steady;
    return Math.floor(this.#now);
  }

  /**
   * Records that a timer with this due time has fired. The clock counts a very late timer as a
   * sleep, because some monotonic clocks advance during sleep.
   */
  fired(due: number): void {
    const sleeps = this.sleeps;
    if (this.now() - due > lateMillis && this.sleeps === sleeps) this.sleeps++;
  }
}
