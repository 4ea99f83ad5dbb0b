import type { ObjectStorage } from "./platform.js";

/** Times that are no further away are waited for in memory, where an idle object stays for about as long anyway: an alarm costs a write, and wakes it up also when it is not needed any more. */
const nearMillis = 10_000;

/** Calls a function at a time, though the object is taken out of memory until then. */
export class Alarm {
  readonly #storage: ObjectStorage;
  readonly #act: () => void;
  readonly #wanted: (reason: string) => boolean;
  readonly #due = new Map<string, number>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** When the stored alarm goes off; zero when that is not known. */
  #stored = 0;

  /** For a reason that is not wanted it is not set; set it again when it is. */
  constructor(storage: ObjectStorage, act: () => void, wanted: (reason: string) => boolean) {
    this.#storage = storage;
    this.#act = act;
    this.#wanted = wanted;
  }

  /** Sets the time for one of several reasons; zero is never. */
  at(reason: string, millis: number): void {
    this.#due.delete(reason);
    if (millis !== 0) this.#due.set(reason, millis);
    this.#arm();
  }

  /** The time set for a reason; zero for never. */
  due(reason: string): number {
    return this.#due.get(reason) ?? 0;
  }

  /** The stored alarm went off. */
  fired(): void {
    this.#stored = 0;
    this.#act();
    this.#arm();
  }

  #arm(): void {
    clearTimeout(this.#timer);
    const wanted = [...this.#due].filter(([reason]) => this.#wanted(reason));
    if (wanted.length === 0) return; // an alarm that goes off for nothing does no harm
    const now = Date.now();
    const next = Math.min(...wanted.map(([, millis]) => millis));
    const near = next - now <= nearMillis;
    // One that goes off too early is set again then, so it is written once a period and not with each message.
    if (!near && this.#stored > now && this.#stored <= next) return;
    if (near) {
      this.#timer = setTimeout(() => this.#ring(), Math.max(0, next - now));
      return;
    }
    this.#stored = next;
    void this.#storage.setAlarm(next);
  }

  #ring(): void {
    this.#act();
    this.#arm();
  }
}
