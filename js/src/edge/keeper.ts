/** Has something done when it has been quiet for a while, and at the latest some time after the first stir. */
export class Keeper {
  readonly #act: () => Promise<void>;
  readonly #quietMillis: number;
  readonly #mostMillis: number;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** When the first and the last stir was that was not acted on; zero when there was none. */
  #first = 0;
  #last = 0;
  #acting = false;

  constructor(quietMillis: number, mostMillis: number, act: () => Promise<void>) {
    this.#quietMillis = quietMillis;
    this.#mostMillis = mostMillis;
    this.#act = act;
  }

  /** There is nothing to act on. */
  get settled(): boolean {
    return this.#first === 0 && !this.#acting;
  }

  stir(): void {
    this.#last = Date.now();
    this.#first ||= this.#last;
    if (!this.#acting) this.#timer ??= setTimeout(() => this.#ring(), this.#quietMillis);
  }

  #ring(): void {
    this.#timer = undefined;
    const now = Date.now();
    const due = Math.min(this.#last + this.#quietMillis, this.#first + this.#mostMillis);
    if (now < due) this.#timer = setTimeout(() => this.#ring(), due - now);
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
    if (this.#first !== 0) this.stir();
  }
}
