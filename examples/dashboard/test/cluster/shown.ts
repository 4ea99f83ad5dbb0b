import type { Collection, CollectionOptions, CollectionProgress, CollectionStatus, Status, Watchglass } from "watchglass";

type Part = Partial<CollectionStatus & CollectionProgress>;

/**
 * Overrides the status and progress that the collections of a connection report. Tests use it for
 * states that are slow to reach, such as `stale`. All other properties come from the connection.
 */
export class Shown {
  reconnects = 0;
  #part: Part = {};
  readonly #listeners = new Set<() => void>();
  readonly #errorListeners = new Set<(key: string, status: Status) => void>();

  /**
   * Overrides the reported properties with `part`. Properties of earlier calls stay overridden.
   */
  set(part: Part): void {
    this.#part = { ...this.#part, ...part };
    for (const listener of this.#listeners) listener();
  }

  /** Removes all overrides. */
  reset(): void {
    this.#part = {};
    this.set({});
  }

  failObject(key: string, message: string): void {
    for (const listener of this.#errorListeners) listener(key, { code: 500, reason: "InternalError", message });
  }

  connection(real: Watchglass): Watchglass {
    const overrides = {
      collection: (resource: string, options?: CollectionOptions) => this.#collection(real.collection(resource, options)),
      reconnect: () => {
        this.reconnects++;
        this.reset();
        real.reconnect();
      },
    };
    return over(real, overrides);
  }

  #collection(real: Collection): Collection {
    const shown = this;
    return over(real, {
      get status() {
        const { state, error, nextAttempt } = { ...real.status, ...shown.#part };
        return { state, error, nextAttempt };
      },
      get progress() {
        return { ...real.progress, ...shown.#part };
      },
      subscribe: (listener: () => void) => both(real.subscribe(listener), add(this.#listeners, listener)),
      onObjectError: (listener: (key: string, status: Status) => void) => both(real.onObjectError(listener), add(this.#errorListeners, listener)),
    });
  }
}

/** Returns an object with the properties of `real`, except for the overrides. */
function over<T extends object>(real: T, overrides: object): T {
  return new Proxy(real, {
    get(_, name) {
      if (name in overrides) return Reflect.get(overrides, name);
      const value = Reflect.get(real, name, real);
      return typeof value === "function" ? value.bind(real) : value;
    },
  });
}

function add<T>(listeners: Set<T>, listener: T): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function both(...ends: (() => void)[]): () => void {
  return () => {
    for (const end of ends) end();
  };
}
