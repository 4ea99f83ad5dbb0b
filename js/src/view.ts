import { uint32 } from "./check.js";
import { statusError, unexpected, type Open } from "./client.js";
import { selection, type CollectionHandle } from "./collection.js";
import { Deferred } from "./deferred.js";
import { badRequest, closedError, type WatchglassError } from "./errors.js";
import { Listeners, offNextFrame, onNextFrame } from "./listeners.js";
import { toRow } from "./object.js";
import type { KubeObject, Row, Status, View, ViewOptions, ViewSnapshot, ViewState } from "./types.js";
import type { Output } from "./wire/outputs.js";

const defaultLimit = 100;

/** The most rows that a window can have. */
const maxLimit = 10_000;

function checkRange(offset: number, limit: number): void {
  uint32("offset", offset);
  if (!(uint32("limit", limit) <= maxLimit)) throw badRequest(`limit is ${limit}, a view has at most ${maxLimit} rows`);
}

const empty: ViewSnapshot = Object.freeze({
  rows: Object.freeze([]),
  total: 0,
  offset: 0,
  counts: Object.freeze([]),
  resourceVersion: "0",
});

/** Codes that say that the query is wrong. After any other refusal the same query is sent again when the collection recovers. */
const queryErrors = new Set([400, 404, 422]);

/**
 * A live window. Each query is a window of its own at the engine: a new one is
 * opened beside the old, takes its place with its first patch, and is dropped
 * when it is refused. A view without a window waits for its collection to
 * recover, or for another query.
 */
export class ViewHandle implements View {
  readonly #collection: CollectionHandle<KubeObject>;
  readonly #listeners = new Listeners();
  readonly #notify = (): void => this.#listeners.call();
  #current: Window | undefined;
  #next: Window | undefined;
  #settled = new Deferred();
  #snapshot = empty;
  #options: ViewOptions;
  #error: WatchglassError | undefined;
  #ended: WatchglassError | undefined;
  readonly #siblings: Set<ViewHandle>;

  /** Siblings are the open views of the collection, which the view joins until it ends. */
  constructor(collection: CollectionHandle<any>, options: ViewOptions, siblings: Set<ViewHandle>) {
    this.#collection = collection;
    this.#siblings = siblings;
    this.#options = options;
    this.#open(options);
    siblings.add(this);
  }

  get state(): ViewState {
    if (this.#ended) return "closed";
    if (this.#next) return "loading";
    return this.#current ? "ready" : "error";
  }

  get error(): Status | undefined {
    return this.#error?.status;
  }

  get snapshot(): ViewSnapshot {
    return this.#snapshot;
  }

  get ready(): Promise<void> {
    return this.#settled.promise;
  }

  // A field, so that it can be passed on without its view, as to useSyncExternalStore.
  readonly subscribe = (listener: () => void): (() => void) => this.#listeners.add(listener);

  move(offset: number, limit: number): void {
    checkRange(offset, limit);
    this.#options = { ...this.#options, offset, limit };
    this.#current?.move(offset, limit);
    this.#next?.move(offset, limit);
  }

  query(options: ViewOptions): Promise<void> {
    if (this.#ended) return Promise.reject(this.#ended);
    // Whoever waits for a query that is overtaken waits for the newer one.
    if (this.#next) this.#next.close();
    else this.#settled = new Deferred();
    this.#next = undefined;
    try {
      this.#open(options);
    } catch (error) {
      this.#settled.reject(error);
    }
    return this.#settled.promise;
  }

  /** Sends the query again that was refused for a reason that may have passed. */
  recover(): void {
    if (this.#ended || this.#current || this.#next || !this.#error || queryErrors.has(this.#error.code)) return;
    this.#settled = new Deferred();
    this.#open(this.#options);
  }

  close(): void {
    this.#current?.close();
    this.#next?.close();
    this.#current = this.#next = undefined;
    this.#end(closedError("the view"));
  }

  [Symbol.dispose](): void {
    this.close();
  }

  #open(options: ViewOptions): void {
    const window: Window = new Window(this.#collection, options, {
      changed: (snapshot) => this.#changed(window, snapshot),
      refused: (error) => this.#refused(window, error),
      ended: (error) => this.#end(error),
      previous: () => this.#snapshot.rows,
    });
    this.#next = window;
    this.#options = options;
    onNextFrame(this.#notify);
  }

  #changed(window: Window, snapshot: ViewSnapshot): void {
    if (window === this.#next) {
      this.#current?.close();
      this.#current = window;
      this.#next = this.#error = undefined;
      this.#settled.resolve();
    }
    this.#snapshot = snapshot;
    onNextFrame(this.#notify);
  }

  #refused(window: Window, error: WatchglassError): void {
    this.#error = error;
    if (window === this.#next) {
      this.#next = undefined;
      this.#settled.reject(error);
    } else {
      this.#current = undefined;
    }
    onNextFrame(this.#notify);
  }

  #end(error: WatchglassError): void {
    if (this.#ended) return;
    this.#ended = this.#error = error;
    this.#siblings.delete(this);
    this.#settled.reject(error);
    offNextFrame(this.#notify);
    this.#listeners.call();
    this.#listeners.clear();
  }
}

interface WindowEvents {
  changed(snapshot: ViewSnapshot): void;
  /** The engine refused the query. The window is closed. */
  refused(error: WatchglassError): void;
  /** The collection ended, and the window with it. */
  ended(error: WatchglassError): void;
  /** The rows that are shown, to be kept where they are still true. */
  previous(): readonly Row[];
}

/** One window at the engine, and the copy of its rows. */
class Window implements Open {
  readonly #collection: CollectionHandle<KubeObject>;
  readonly #events: WindowEvents;
  readonly #id: number;
  #options: ViewOptions;
  #slots = new Map<number, Row>();
  #fresh = true;

  constructor(collection: CollectionHandle<KubeObject>, options: ViewOptions, events: WindowEvents) {
    checkRange(options.offset ?? 0, options.limit ?? defaultLimit);
    this.#collection = collection;
    this.#options = { ...options };
    this.#events = events;
    this.#id = collection.client.register(this);
    collection.adopt(this);
    this.#open();
  }

  move(offset: number, limit: number): void {
    this.#options = { ...this.#options, offset, limit };
    this.#collection.client.send({ type: "MoveView", view: this.#id, offset, limit });
  }

  close(): void {
    this.#collection.client.send({ type: "CloseView", view: this.#id });
    this.#release();
  }

  receive(output: Output): void {
    switch (output.type) {
      case "ViewPatch":
        return this.#events.changed(this.#patch(output));
      case "Rejected":
        this.#release();
        return this.#events.refused(statusError(output.status));
    }
    throw unexpected(output);
  }

  restarted(): void {
    this.#slots.clear();
    this.#fresh = true;
    this.#open();
  }

  closed(error: WatchglassError): void {
    this.#release();
    this.#events.ended(error);
  }

  #open(): void {
    const { sort = "", offset = 0, limit = defaultLimit, countBy = "" } = this.#options;
    const command = { view: this.#id, collection: this.#collection.id, ...selection(this.#options), sort, offset, limit, countBy };
    this.#collection.client.send({ type: "OpenView", ...command });
  }

  #release(): void {
    this.#collection.client.release(this.#id);
    this.#collection.disown(this);
  }

  #patch(patch: Output & { type: "ViewPatch" }): ViewSnapshot {
    const known = this.#fresh ? new Map(this.#events.previous().map((row) => [row.key, row])) : undefined;
    this.#fresh = false;
    for (const [slot, item] of patch.rows) {
      const row = toRow(item);
      const old = known?.get(row.key);
      this.#slots.set(slot, old && same(old, row) ? old : row);
    }
    // Slots that are not listed have left; the engine may give them to others.
    const slots = new Map<number, Row>();
    const rows = patch.slots.map((slot) => {
      const row = this.#slots.get(slot);
      if (!row) throw unexpected(patch);
      slots.set(slot, row);
      return row;
    });
    this.#slots = slots;
    for (const count of patch.counts) Object.freeze(count);
    return Object.freeze({
      rows: Object.freeze(rows),
      total: patch.total,
      offset: patch.offset,
      counts: Object.freeze(patch.counts),
      resourceVersion: patch.resourceVersion,
    });
  }
}

function same(a: Row, b: Row): boolean {
  return a.uid === b.uid && a.resourceVersion === b.resourceVersion && a.columns.every((cell, i) => Object.is(cell, b.columns[i]));
}
