/**
 * The time that an engine is told: milliseconds since the epoch that never go
 * back. A wall clock that is set back must not put timeouts off, and a
 * monotonic clock that stood still while the machine slept must not hide that
 * the data is old, so each reading goes on by the larger of the two.
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
