/** Functions that want to know of changes. One that throws does not keep the others from being called. */
export class Listeners<Args extends unknown[] = []> {
  readonly #listeners = new Set<{ call: (...args: Args) => void }>();

  /** Returns how to stop, which may be called more than once. */
  add(call: (...args: Args) => void): () => void {
    // An entry of its own, so that a function that is added twice is called
    // twice and stops once at a time.
    const entry = { call };
    this.#listeners.add(entry);
    return () => void this.#listeners.delete(entry);
  }

  call(...args: Args): void {
    for (const entry of [...this.#listeners]) {
      if (!this.#listeners.has(entry)) continue;
      try {
        entry.call(...args);
      } catch (error) {
        report(error);
      }
    }
  }

  clear(): void {
    this.#listeners.clear();
  }

  get empty(): boolean {
    return this.#listeners.size === 0;
  }
}

/** Shows an error of the caller's own code the way an uncaught one is shown, without ending the process. */
export function report(error: unknown): void {
  if (typeof reportError === "function") reportError(error);
  else console.error(error);
}

const due = new Set<() => void>();
let cancel: (() => void) | undefined;

/**
 * Calls a function with the next animation frame, or soon where there are no
 * frames. However often it is asked for before that, it is called once.
 */
export function onNextFrame(act: () => void): void {
  due.add(act);
  cancel ??= schedule(() => {
    cancel?.();
    cancel = undefined;
    const now = [...due];
    due.clear();
    for (const act of now) act();
  });
}

/** Takes back what {@link onNextFrame} was asked for. */
export function offNextFrame(act: () => void): void {
  due.delete(act);
}

function schedule(run: () => void): () => void {
  if (typeof requestAnimationFrame !== "function") {
    const timer = setTimeout(run, 0);
    return () => clearTimeout(timer);
  }
  // A hidden page has no frames; the timer sees to it that it hears of changes
  // all the same, if seldom.
  const frame = requestAnimationFrame(run);
  const timer = setTimeout(run, 1000);
  return () => {
    cancelAnimationFrame(frame);
    clearTimeout(timer);
  };
}
