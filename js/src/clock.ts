/**
 * The clock of an engine: milliseconds since the epoch that never decrease. A wall clock
 * that is set back must not delay timeouts. A monotonic clock that stopped while the
 * machine slept must not hide stale data. Each reading therefore advances by the larger
 * difference.
 */
export class Clock {
  #wall = Date.now();
  #steady = performance.now();
  #now = this.#wall;

  now(): number {
    const wall = Date.now();
    const steady = performance.now();
    this.#now += Math.max(0, wall - this.#wall, steady - this.#steady);
    this.#wall = wall;
    this.#steady = steady;
    return Math.floor(this.#now);
  }
}
