/** A set of listeners. If a listener throws, the other listeners are still called. */
export class Listeners<Args extends unknown[] = []> {
  readonly #listeners = new Set<{ call: (...args: Args) => void }>();

  /** Adds a listener. Returns a function that removes it and may be called more than once. */
  add(call: (...args: Args) => void): () => void {
    // Each call adds a separate entry, so that a function that is added twice is
    // called twice and removed separately.
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

/** Reports an error from a callback as an uncaught error, without ending the process. */
export function report(error: unknown): void {
  if (typeof reportError === "function") reportError(error);
  else console.error(error);
}

const due = new Set<() => void>();
let cancel: (() => void) | undefined;

/**
 * Calls a function in the next animation frame, or soon on platforms without frames. Repeated
 * requests before that frame result in one call.
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

/** Cancels a call requested with {@link onNextFrame}. */
export function offNextFrame(act: () => void): void {
  due.delete(act);
}

function schedule(run: () => void): () => void {
  if (typeof requestAnimationFrame !== "function") {
    const timer = setTimeout(run, 0);
    return () => clearTimeout(timer);
  }
  // A hidden page has no frames. The timer ensures that it still receives changes, about once a
  // second.
  const frame = requestAnimationFrame(run);
  const timer = setTimeout(run, 1000);
  return () => {
    cancelAnimationFrame(frame);
    clearTimeout(timer);
  };
}
