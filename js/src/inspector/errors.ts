import type { Collection, Opened, Status } from "../types.js";

export interface NotedError {
  time: number;
  source: string;
  status: Status;
}

const maxErrors = 100;

/** The latest errors of a client's collections and objects, newest first. */
export class ErrorLog {
  readonly #stops = new Map<Collection, () => void>();
  readonly #objects = new Map<number, Status>();
  #errors: NotedError[] = [];

  get errors(): readonly NotedError[] {
    return this.#errors;
  }

  /** Subscribes to opened collections, and records new errors of objects. */
  update(opened: readonly Opened[]): void {
    for (const one of opened) {
      if (one.type === "collection" && !this.#stops.has(one.collection)) this.#follow(one.resource, one.collection);
      if (one.type === "object" && one.error && this.#objects.get(one.id) !== one.error) {
        this.#objects.set(one.id, one.error);
        this.#add(`${one.resource} ${one.key}`, one.error);
      }
    }
  }

  /** Ends all subscriptions, and keeps the errors. */
  stop(): void {
    for (const stop of this.#stops.values()) stop();
    this.#stops.clear();
  }

  #follow(resource: string, collection: Collection): void {
    let last: Status | undefined;
    const look = (): void => {
      const { error, state } = collection.status;
      if (error && error !== last && state !== "closed") this.#add(resource, error);
      last = error;
      if (state === "closed") this.#stops.delete(collection);
    };
    const stops = [collection.subscribe(look), collection.onObjectError((key, status) => this.#add(`${resource} ${key}`, status))];
    this.#stops.set(collection, () => stops.forEach((stop) => stop()));
    look();
  }

  #add(source: string, status: Status): void {
    this.#errors.unshift({ time: Date.now(), source, status });
    if (this.#errors.length > maxErrors) this.#errors.length = maxErrors;
  }
}
