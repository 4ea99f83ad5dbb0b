import type { Collection, WatchEvent } from "../types.js";

export interface TailLine {
  time: number;
  type: string;
  key: string;
  resourceVersion: string;
}

const maxLines = 200;

/**
 * The maximum number of queued events. While the queue is full, the engine merges the events of
 * each object.
 */
const credit = 100;

/** The latest events of one collection, newest first. */
export class Tail {
  readonly #changed: () => void;
  #lines: TailLine[] = [];
  #abort: AbortController | undefined;
  #collection: Collection | undefined;
  paused = false;
  /** The number of events since the tail was started or cleared. */
  count = 0;

  constructor(changed: () => void) {
    this.#changed = changed;
  }

  get lines(): readonly TailLine[] {
    return this.#lines;
  }

  clear(): void {
    this.#lines = [];
    this.count = 0;
    this.#changed();
  }

  /** Follows a collection, or stops if it is undefined. */
  follow(collection: Collection | undefined): void {
    if (collection === this.#collection) return;
    this.#abort?.abort();
    this.#collection = collection;
    this.clear();
    if (!collection) return;
    const abort = (this.#abort = new AbortController());
    void this.#run(collection, abort.signal);
  }

  /**
   * Watches a collection. After an error, watches again from the current version of the collection.
   */
  async #run(collection: Collection, signal: AbortSignal): Promise<void> {
    while (!signal.aborted && collection.status.state !== "closed") {
      try {
        await collection.synced;
        const { resourceVersion } = collection.progress;
        for await (const event of collection.watch({ resourceVersion, policy: "conflate", credit, signal })) this.#take(event);
      } catch (error) {
        if (signal.aborted) return;
        this.#add({ type: "ERROR", key: error instanceof Error ? error.message : String(error), resourceVersion: "" });
        await nextChange(collection, signal);
      }
    }
  }

  #take(event: WatchEvent): void {
    if (event.type === "BOOKMARK") return;
    const { namespace, name, resourceVersion } = event.object.metadata;
    this.#add({ type: event.type, key: namespace ? `${namespace}/${name}` : name, resourceVersion });
  }

  #add(line: Omit<TailLine, "time">): void {
    this.count++;
    if (this.paused) return;
    this.#lines.unshift({ time: Date.now(), ...line });
    if (this.#lines.length > maxLines) this.#lines.length = maxLines;
    this.#changed();
  }
}

/** Resolves at the next change of a collection's status, or when the signal is aborted. */
function nextChange(collection: Collection, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const stop = collection.subscribe(() => (stop(), resolve()));
    signal.addEventListener("abort", () => (stop(), resolve()), { once: true });
  });
}
