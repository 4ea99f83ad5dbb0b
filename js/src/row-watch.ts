import { selection } from "./check.js";
import { statusError, unexpected, type Open, type OpenCollection } from "./engine-client.js";
import type { WatchglassError } from "./errors.js";
import { toRow } from "./object.js";
import type { Collection, Opened, Row, Schema, Selectors } from "./types.js";
import { Match, Policy, Tristate } from "./wire/commands.js";
import { Flag } from "./wire/item.js";
import type { Delivery, WatchEventFrame } from "./wire/outputs.js";

/** The number of events that the engine may send before the page has processed any. */
const credit = 2000;

/** The callbacks that receive the rows of a {@link RowWatch}. */
export interface RowEvents {
  /** Replaces all rows. Called when the rows are first complete, and after every interruption. */
  replaced(rows: ReadonlyMap<string, Row>, schema: Schema): void;
  put(row: Row): void;
  deleted(key: string): void;
  /**
   * Called when the collection refuses the watch. The watch is opened again when the collection
   * recovers.
   */
  refused(error: WatchglassError): void;
  /** Called when the collection has ended, which also ends the watch. */
  closed(error: WatchglassError): void;
}

/**
 * A watch of the matching rows of a collection, without bodies. A RowWatch reads all rows again if
 * the engine loses the history of the watch, is replaced, or sends another schema.
 */
export class RowWatch implements Open {
  readonly #collection: Collection & OpenCollection;
  readonly #selectors: Required<Selectors>;
  readonly #events: RowEvents;
  readonly #unsubscribe: () => void;
  /** Undefined while no watch is open, for example after a refusal. */
  #id: number | undefined;
  #consumed = 0;
  /** The initial rows, until they are complete. */
  #initial: Map<string, Row> | undefined;
  /** The schema of the rows; undefined before the first row. */
  #schema: Schema | undefined;

  constructor(collection: Collection & OpenCollection, selectors: Selectors, events: RowEvents) {
    this.#collection = collection;
    this.#selectors = selection(selectors);
    this.#events = events;
    collection.check();
    this.#open();
    collection.adopt(this);
    this.#unsubscribe = collection.subscribe(() => this.#look());
  }

  close(): void {
    this.#stop();
    this.#unsubscribe();
    this.#collection.disown(this);
  }

  receive(output: Delivery): void {
    switch (output.type) {
      case "WatchEvents":
        if (this.#described()) return this.#take(output.events);
        return this.#open();
      case "WatchClosed":
      case "Rejected":
        return this.#ended(statusError(output.status));
    }
    throw unexpected(output);
  }

  describe(): Opened {
    return { type: "watch", id: this.#id!, of: this.#collection.id, options: this.#selectors, queued: 0 };
  }

  restarted(): void {
    this.#release();
    this.#open();
  }

  closed(error: WatchglassError): void {
    this.#release();
    this.close();
    this.#events.closed(error);
  }

  #open(): void {
    this.#stop();
    const { id: collection, client } = this.#collection;
    const watch = (this.#id = client.register(this));
    this.#initial = new Map();
    this.#schema = undefined;
    this.#consumed = 0;
    client.send({
      type: "OpenWatch",
      watch,
      collection,
      ...this.#selectors,
      resourceVersion: "",
      match: Match.NotOlderThan,
      sendInitialEvents: Tristate.true,
      bookmarks: true,
      timeoutSeconds: 0,
      bodies: false,
      // A watch that falls behind skips to the latest state, and needs no new list.
      policy: Policy.conflate,
      credit,
      previous: false,
    });
  }

  #stop(): void {
    if (this.#id === undefined) return;
    this.#collection.client.send({ type: "CloseWatch", watch: this.#id });
    this.#release();
  }

  /** Frees the ID of a watch that has ended. */
  #release(): void {
    if (this.#id !== undefined) this.#collection.client.release(this.#id);
    this.#id = undefined;
  }

  #ended(error: WatchglassError): void {
    this.#release();
    if (error.code === 410) this.#open();
    else this.#events.refused(error);
  }

  /** Opens the watch again if a changed state or schema of the collection requires it. */
  #look(): void {
    const { state } = this.#collection.status;
    if (this.#id === undefined ? state === "live" || state === "syncing" : !this.#described()) this.#open();
  }

  /** Reports whether the collection still has the schema of the received rows. */
  #described(): boolean {
    const { schema } = this.#collection;
    this.#schema ??= schema;
    if (schema !== this.#schema && JSON.stringify(schema) !== JSON.stringify(this.#schema)) return false;
    this.#schema = schema;
    return true;
  }

  #take(events: readonly WatchEventFrame[]): void {
    for (const event of events) {
      if (event.type === "BOOKMARK") {
        if (event.flags & Flag.endOfInitialEvents && this.#initial) {
          const rows = this.#initial;
          this.#initial = undefined;
          this.#events.replaced(rows, this.#schema!);
        }
      } else if (event.type === "DELETED") {
        const { key } = event.item.envelope();
        if (this.#initial) this.#initial.delete(key);
        else this.#events.deleted(key);
      } else {
        const row = toRow(event.item, this.#schema);
        if (this.#initial) this.#initial.set(row.key, row);
        else this.#events.put(row);
      }
      if (this.#id === undefined) return; // the receiver has closed this watch
    }
    this.#consumed += events.length;
    if (this.#consumed < credit / 2) return;
    this.#collection.client.send({ type: "GrantWatch", watch: this.#id!, events: this.#consumed });
    this.#consumed = 0;
  }
}
