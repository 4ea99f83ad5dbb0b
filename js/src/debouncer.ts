/**
 * Calls a function when no trigger has arrived for `quietMillis`, and at the latest `mostMillis`
 * after the first trigger.
 */
export class Debouncer {
  readonly #act: () => Promise<void>;
  readonly #quietMillis: number;
  readonly #mostMillis: number;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** The times of the first and the last pending trigger; zero if there is none. */
  #first = 0;
  #last = 0;
  #acting = false;

  constructor(quietMillis: number, mostMillis: number, act: () => Promise<void>) {
    this.#quietMillis = quietMillis;
    this.#mostMillis = mostMillis;
    this.#act = act;
  }

  /** Whether no trigger is pending and no call is running. */
  get settled(): boolean {
    return this.#first === 0 && !this.#acting;
  }

  trigger(): void {
    this.#last = Date.now();
    this.#first ||= this.#last;
    if (!this.#acting) this.#timer ??= setTimeout(() => this.#check(), this.#quietMillis);
  }

  #check(): void {
    this.#timer = undefined;
    const now = Date.now();
    const due = Math.min(this.#last + this.#quietMillis, this.#first + this.#mostMillis);
    if (now < due) this.#timer = setTimeout(() => this.#check(), due - now);
    else void this.#run();
  }

  async #run(): Promise<void> {
    this.#first = 0;
    this.#acting = true;
    try {
      await this.#act();
    } finally {
      this.#acting = false;
    }
    if (this.#first !== 0) this.trigger();
  }
}
