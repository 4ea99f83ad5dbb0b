import type { Client } from "../client.js";
import type { CollectionHandle } from "../collection.js";
import { idsPerMember } from "../member.js";
import { messageOf, WatchglassError } from "../errors.js";
import type { Collection, CollectionProgress, CollectionStatus, KubeObject, Position, Status } from "../types.js";
import type { ResourceMetrics } from "./metrics.js";
import { StorageFull, type StoredState, type Storage } from "./storage.js";

/**
 * Changes are appended to a stored state until they reach this share of the size of the complete
 * state. Then the complete state is stored again.
 */
const changeShare = 0.5;
/** The minimum size of the changes, in bytes, for which the complete state is stored again. */
const changeBytes = 64 << 10;
/**
 * The delay in milliseconds before another attempt to store a state, after an attempt has failed,
 * for example because the storage is full.
 */
const retryMillis = 60_000;

/**
 * The part of a resource that was dropped for lack of memory: the complete resource if `ended` is
 * set, or else its bodies.
 */
export interface Degraded {
  ended?: Status;
}

/** The statistics of a resource that are reported for metrics. */
const reported = ["usedBytes", "history", "events", "relists", "resumes", "expired", "terminatedWatches", "overtakenWatches", "stalls", "conflations", "initialEvents"];

/** A resource that an object holds in its engine and in storage. */
export class StoredCollection {
  readonly resource: string;
  readonly #client: Client;
  readonly #storage: Storage;
  readonly #metrics: ResourceMetrics;
  #collection!: CollectionHandle<KubeObject>;
  #stored: StoredState | undefined;
  #metadataOnly: boolean;
  #ended: Status | undefined;
  /** The error and the time of the last attempt to store the state, if it failed. */
  #failure: { message: string; at: number } | undefined;

  constructor(client: Client, storage: Storage, resource: string, stored: StoredState | undefined, shed: Degraded | undefined, metrics: ResourceMetrics) {
    this.resource = resource;
    this.#client = client;
    this.#storage = storage;
    this.#metrics = metrics;
    this.#stored = stored;
    this.#metadataOnly = stored?.metadataOnly ?? shed !== undefined;
    this.#ended = shed?.ended;
    const opened = Date.now();
    this.#open();
    if (this.#ended) this.close();
    else if (!stored) this.#collection.synced.then(() => metrics.initialSync.since(opened), () => {}); // the collection may end before its first sync
  }

  get collection(): Collection {
    return this.#collection;
  }

  get metadataOnly(): boolean {
    return this.#metadataOnly;
  }

  /**
   * Identifies the history of the stored state's resource versions; empty if nothing is
   * stored.
   */
  get clusterID(): string {
    return this.#stored?.position.clusterID ?? "";
  }

  /** Resolves when the stored state has been loaded, or deleted because it was unusable. */
  async restored(): Promise<void> {
    try {
      await this.#collection.restored;
    } catch (error) {
      this.#lost(messageOf(error));
    }
  }

  #lost(why: string): void {
    console.error(`watchglass: the stored state of ${this.resource} is discarded and loaded again: ${why}`);
    this.forget();
  }

  /** Deletes the stored state. */
  forget(): void {
    this.#storage.forget(this.resource);
    this.#stored = undefined;
  }

  close(): void {
    this.#collection.close();
  }

  /** Why the resource ended permanently; undefined while it is open. */
  get ended(): Status | undefined {
    if (this.#ended) return this.#ended;
    const { state, error } = this.#collection.status;
    return state === "closed" ? error : undefined;
  }

  /** Opens the resource again without bodies, because bodies need too much memory. */
  withoutBodies(): void {
    this.#metadataOnly = true;
    this.forget();
    this.close();
    this.#open();
  }

  /** Closes the resource permanently. */
  end(why: Status): void {
    this.#ended = why;
    this.forget();
    this.close();
  }

  /**
   * Returns the bytes that the resource uses in the module. `inspected` has the engine's statistics
   * of all collections.
   */
  used(inspected: Record<string, number>): number {
    return this.#counted("usedBytes", inspected);
  }

  /** Returns a statistic of the resource; zero while the engine does not report it. */
  #counted(name: string, inspected: Record<string, number>): number {
    return inspected[`collection.${this.#collection.id % idsPerMember}.${name}`] ?? 0;
  }

  report(inspected: Record<string, number>): CollectionStatus & CollectionProgress & { metadataOnly: boolean; cache: Record<string, number>; stored?: object; storeError?: string } {
    const { status, progress } = this.#collection;
    const stored = this.#stored && { resourceVersion: this.#stored.position.resourceVersion, chunks: this.#stored.chunks, bytes: this.#stored.wholeBytes + this.#stored.changeBytes };
    return {
      ...status,
      ...progress,
      ...(this.#ended && { error: this.#ended }),
      metadataOnly: this.#metadataOnly,
      cache: Object.fromEntries(reported.map((name) => [name, this.#counted(name, inspected)])),
      ...(stored && { stored }),
      ...(this.#failure && { storeError: this.#failure.message }),
    };
  }

  /** Stores the changes since the stored state, if there are any. */
  async store(now: number): Promise<void> {
    const { status, progress } = this.#collection;
    const { resourceVersion } = progress;
    if (status.state === "closed") return;
    if (resourceVersion === "0" || resourceVersion === this.#stored?.position.resourceVersion) return;
    if (this.#failure && now < this.#failure.at + retryMillis) return;
    try {
      await this.#storeChanges();
      this.#failure = undefined;
    } catch (error) {
      // A collection that was relisted in the meantime is stored the next time.
      if (error instanceof WatchglassError) return;
      const message = error instanceof StorageFull ? `the storage is full, and changes are held only in memory: ${error.message}` : messageOf(error);
      if (!this.#failure) console.error(`watchglass: the state of ${this.resource} cannot be stored: ${message}`);
      this.#failure = { message, at: now };
    }
  }

  async #storeChanges(): Promise<void> {
    const before = this.#stored ?? { resource: this.resource, generation: 0, chunks: 0, wholeBytes: 0, changeBytes: 0 };
    const continues = this.#stored && before.changeBytes < Math.max(changeBytes, changeShare * before.wholeBytes);
    let position: Position | undefined;
    let next = before;
    try {
      for await (const chunk of this.#collection.snapshot({ since: continues ? this.#stored?.position : undefined })) {
        if (next === before && chunk.whole) next = { ...before, generation: before.generation + 1, chunks: 0, wholeBytes: 0, changeBytes: 0 };
        position = chunk.position;
        const rows = this.#storage.write(this.resource, next.generation, next.chunks, chunk.data);
        const bytes = chunk.whole ? "wholeBytes" : "changeBytes";
        next = { ...next, chunks: next.chunks + rows, [bytes]: next[bytes] + chunk.data.length };
      }
      if (!position) return;
      const stored = { ...next, position, metadataOnly: this.#metadataOnly };
      this.#storage.commit(stored);
      this.#stored = stored;
    } catch (error) {
      this.#storage.clean(before);
      throw error;
    }
  }

  #open(): void {
    const stored = this.#stored;
    this.#collection = this.#client.collection(this.resource, {
      metadataOnly: this.#metadataOnly,
      ...(stored && { restore: this.#storage.read(stored), lost: (why) => this.#lost(why.message) }),
    }) as CollectionHandle<KubeObject>;
    const collection = this.#collection;
    // Count only later faults. The faults in a stored state were counted before.
    collection.restored.then(() => collection.onObjectError(() => this.#metrics.faults++), () => {}); // restored() handles the error
  }
}
