import { abortable } from "./abort.js";
import { checkMatch, columns, selection, uint32 } from "./check.js";
import { Deferred } from "./deferred.js";
import { statusError, unexpected, type EngineClient, type Open, type OpenCollection } from "./engine-client.js";
import { closedError, internalError, WatchglassError } from "./errors.js";
import { Listeners, offNextFrame, onNextFrame } from "./listeners.js";
import { frozen, toObject } from "./object.js";
import type { ChunkHead } from "./snapshot.js";
import type {
  CallOptions,
  Collection,
  CollectionOptions,
  CollectionProgress,
  CollectionStatus,
  Column,
  ListOptions,
  ListResult,
  Opened,
  ResourceVersion,
  Schema,
  SnapshotChunk,
  SnapshotOptions,
  Status,
  View,
  ViewOptions,
  Watch,
  WatchOptions,
} from "./types.js";
import { compareResourceVersions } from "./versions.js";
import { ViewHandle } from "./view.js";
import { WatchIterator } from "./watch.js";
import { Match, type MemberCommand } from "./wire/commands.js";
import type { Delivery } from "./wire/outputs.js";

/**
 * The options of a collection, with additions that are internal to the package. A chunk in
 * `restore` may be a {@link ChunkHead}, whose body is loaded later.
 */
export interface OpenOptions extends Omit<CollectionOptions, "restore"> {
  restore?: Iterable<Uint8Array | ChunkHead>;
  /**
   * Called when a body that was omitted from the restored chunks cannot be loaded. The collection
   * has then discarded the restored state, and the caller must delete the stored state.
   */
  lost?: (why: Status) => void;
}

/** The options of a request for one page of a list. */
interface PageOptions {
  resourceVersion: string;
  match: number;
  limit: number;
  continue: string;
}

/**
 * The maximum number of objects in a page of a list without a limit. A larger page would keep the
 * engine's worker busy for too long, and would enlarge the module's memory, which never shrinks.
 */
const pageLimit = 500;

const optional = () => import("./optional.js");

/**
 * Awaits a function of optional.js and converts its errors, because optional.js has its
 * own copy of WatchglassError.
 */
async function own<T>(act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    const { status } = error as Partial<WatchglassError>;
    throw status ? new WatchglassError(status, { cause: error }) : error;
  }
}

/**
 * An open collection. The handle tracks the status of the collection, and opens its watches and
 * views.
 */
export class CollectionHandle<T extends object> implements Collection<T>, OpenCollection, Open {
  readonly id: number;
  readonly client: EngineClient;
  readonly #resource: string;
  readonly #options: CollectionOptions;
  readonly #columns: readonly Column[];
  readonly #listeners = new Listeners();
  readonly #errorListeners = new Listeners<[key: string, status: Status]>();
  readonly #notify = (): void => this.#listeners.call();
  readonly #progressListeners = new Listeners();
  readonly #notifyProgress = (): void => this.#progressListeners.call();
  readonly #synced = new Deferred();
  readonly #restored = new Deferred();
  readonly #children = new Set<Open>();
  readonly #views = new Set<ViewHandle>();
  readonly #lost: OpenOptions["lost"];
  /** Whether sending the stored chunks to the engine has finished, successfully or not. */
  #handedIn = false;
  #status: CollectionStatus = Object.freeze({ state: "connecting" });
  #progress: CollectionProgress = Object.freeze({ resourceVersion: "0", lastProgress: 0, objects: 0, loaded: 0, total: 0, bodies: 0 });
  #schema: Schema | undefined;
  #ended: WatchglassError | undefined;

  constructor(client: EngineClient, resource: string, options: OpenOptions) {
    this.client = client;
    this.#resource = resource;
    const { restore: chunks, lost, ...rest } = options;
    this.#lost = lost;
    this.#options = rest;
    this.#columns = columns(options.columns);
    this.id = client.register(this);
    this.#open(chunks !== undefined);
    // These calls have no effect if #restored was rejected while the chunks were sent.
    if (chunks) {
      const done = own(async () => (await optional()).restore(client, this.id, chunks)).finally(() => (this.#handedIn = true));
      done.then(this.#restored.resolve, this.#restored.reject);
    } else {
      this.#restored.resolve();
    }
  }

  get status(): CollectionStatus {
    return this.#status;
  }

  get progress(): CollectionProgress {
    return this.#progress;
  }

  get schema(): Schema | undefined {
    return this.#schema;
  }

  get synced(): Promise<void> {
    return this.#synced.promise;
  }

  get restored(): Promise<void> {
    return this.#restored.promise;
  }

  snapshot(options: SnapshotOptions = {}): AsyncIterable<SnapshotChunk> {
    this.check();
    const chunkBytes = uint32("chunkBytes", options.chunkBytes ?? 0);
    return { [Symbol.asyncIterator]: () => this.#snapshot({ ...options, chunkBytes }) };
  }

  async *#snapshot(options: SnapshotOptions): AsyncGenerator<SnapshotChunk, void, void> {
    const chunks = (await optional()).takeSnapshot(this, options);
    try {
      for (let next; !(next = await own(() => chunks.next())).done; ) yield next.value;
    } finally {
      await chunks.return();
    }
  }

  readonly subscribe = (listener: () => void): (() => void) => this.#listeners.add(listener);

  readonly subscribeProgress = (listener: () => void): (() => void) => this.#progressListeners.add(listener);

  onObjectError(listener: (key: string, status: Status) => void): () => void {
    return this.#errorListeners.add(listener);
  }

  watch(options: WatchOptions = {}): Watch<T> {
    let last: WatchIterator<T> | undefined;
    return {
      get end() {
        return last?.end;
      },
      [Symbol.asyncIterator]: () => (last = new WatchIterator<T>(this, options)),
    };
  }

  view(options: ViewOptions = {}): View {
    this.check();
    return new ViewHandle(this, options, this.#views);
  }

  async get(key: string, { signal }: CallOptions = {}): Promise<T> {
    const reply = await this.#request("ObjectReply", (request) => ({ type: "Get", request, collection: this.id, key }), signal);
    return toObject<T>(reply.item, this.#schema);
  }

  async list(options: ListOptions = {}): Promise<ListResult<T>> {
    const { resourceVersion = "", resourceVersionMatch, limit = 0, continue: token = "" } = options;
    uint32("limit", limit);
    checkMatch(resourceVersionMatch);
    const first = { resourceVersion, match: Match[resourceVersionMatch ?? "unset"], limit, continue: token };
    // With a resource version, a limit would change which state is listed (rules C39 and C40).
    if (limit || resourceVersion) return this.#list(options, first);
    try {
      return await this.#list(options, { ...first, limit: pageLimit }, Infinity);
    } catch (error) {
      // The history may no longer reach back to the version of the first page.
      if ((error as Partial<WatchglassError>).code !== 410) throw error;
      return this.#list(options, first);
    }
  }

  /**
   * Lists up to `most` objects in pages, or all objects at once if the page has no limit. The first
   * page has the given options.
   */
  async #list(options: ListOptions, page: PageOptions, most = page.limit): Promise<ListResult<T>> {
    const selectors = selection(options);
    const items: T[] = [];
    for (;;) {
      const command = { ...selectors, ...page, bodies: !this.metadataOnly };
      const reply = await this.#request("ListReply", (request) => ({ type: "List", request, collection: this.id, ...command }), options.signal);
      for (const item of reply.items) items.push(toObject<T>(item, this.#schema));
      const { resourceVersion, continue: token, remaining } = reply;
      if (!token || items.length === most) return { items, resourceVersion, continue: token, ...(remaining > 0 && { remainingItemCount: remaining }) };
      // The engine also limits a page to about 1 MiB. All pages of one list have the same resource
      // version.
      page = { resourceVersion: "", match: Match.unset, limit: Math.min(page.limit, most - items.length), continue: token };
    }
  }

  /**
   * Sends a request to the engine, and returns the reply. If the collection has ended, rejects with
   * the collection's error.
   */
  async #request<Type extends Delivery["type"]>(type: Type, command: (request: number) => MemberCommand, signal: AbortSignal | undefined): Promise<Delivery & { type: Type }> {
    this.check();
    try {
      return await this.client.request(type, command, signal);
    } catch (error) {
      throw this.#ended ?? error;
    }
  }

  async waitFor(resourceVersion: ResourceVersion, { signal }: CallOptions = {}): Promise<void> {
    const reaching = new Deferred();
    const look = (): void => {
      if (this.#ended) reaching.reject(this.#ended);
      else if (compareResourceVersions(this.#progress.resourceVersion, resourceVersion) >= 0) reaching.resolve();
    };
    look();
    const stops = [this.subscribe(look), this.subscribeProgress(look)];
    try {
      await abortable(() => reaching.promise, signal);
    } finally {
      for (const stop of stops) stop();
    }
  }

  close(): void {
    if (this.#ended) return;
    this.end(closedError(`the collection ${this.#resource}`));
    this.client.send({ type: "CloseCollection", collection: this.id });
  }

  [Symbol.dispose](): void {
    this.close();
  }

  get metadataOnly(): boolean {
    return this.#options.metadataOnly ?? false;
  }

  /** Throws if the collection has ended. */
  check(): void {
    if (this.#ended) throw this.#ended;
  }

  /** Registers a watch or view that ends with the collection. */
  adopt(child: Open): void {
    this.#children.add(child);
  }

  disown(child: Open): void {
    this.#children.delete(child);
  }

  receive(output: Delivery): void {
    switch (output.type) {
      case "CollectionState": {
        const { state, resourceVersion, lastProgressMillis: lastProgress, nextAttemptMillis: nextAttempt, objects, loaded, total, bodies, status } = output;
        if (state === "closed") {
          this.client.send({ type: "CloseCollection", collection: this.id });
          return this.end(statusError(status));
        }
        const recovered = state !== this.#status.state && (state === "syncing" || state === "live");
        this.#progress = Object.freeze({ resourceVersion, lastProgress, objects, loaded, total, bodies });
        if (!this.#progressListeners.empty) onNextFrame(this.#notifyProgress);
        this.#update({ state, ...(nextAttempt && { nextAttempt }), ...(status && { error: status }) });
        if (state === "live") this.#synced.resolve();
        if (recovered) for (const view of this.#views) view.recover();
        return;
      }
      case "CollectionSchema":
        this.#schema = frozen(output.schema);
        return onNextFrame(this.#notify);
      case "CollectionError":
        return this.#errorListeners.call(output.key, output.status ?? internalError("no reason was given").status);
      case "Rejected":
        if (output.object === "restore") {
          const error = statusError(output.status);
          return this.#handedIn ? this.#lost?.(error.status) : this.#restored.reject(error);
        }
        return this.end(statusError(output.status));
    }
    throw unexpected(output);
  }

  describe(): Opened {
    return { type: "collection", id: this.id, resource: this.#resource, options: this.#options, collection: this as Collection<any> };
  }

  silent(error: Status): void {
    this.#update({ state: "stale", error });
  }

  restarted(error: Status): void {
    this.#update({ state: "reconnecting", error });
    this.#restored.reject(new WatchglassError(error)); // no effect if it was resolved before
    this.#open(false);
  }

  closed(error: WatchglassError): void {
    this.end(error);
  }

  /**
   * Ends the collection, its watches and its views, without sending a command to the
   * engine.
   */
  end(error: WatchglassError): void {
    if (this.#ended) return;
    this.#ended = error;
    for (const child of [...this.#children]) child.closed(error);
    this.client.release(this.id);
    this.#synced.reject(error);
    this.#restored.reject(error);
    this.#update({ state: "closed", error: error.status });
  }

  #open(restore: boolean): void {
    this.client.send({
      type: "OpenCollection",
      collection: this.id,
      resource: this.#resource,
      ...selection(this.#options),
      metadataOnly: this.metadataOnly,
      rowsFirst: this.#options.rowsFirst,
      restore,
      columns: this.#columns,
    });
  }

  #update(status: CollectionStatus): void {
    if (JSON.stringify(status) === JSON.stringify(this.#status)) return;
    this.#status = Object.freeze(status);
    this.client.changed();
    // Listeners are called with the final status immediately, because the program may end before
    // the next frame.
    if (status.state !== "closed") return this.#listeners.empty ? undefined : onNextFrame(this.#notify);
    offNextFrame(this.#notify);
    offNextFrame(this.#notifyProgress);
    this.#listeners.call();
    this.#listeners.clear();
    this.#progressListeners.clear();
    this.#errorListeners.clear();
  }
}
