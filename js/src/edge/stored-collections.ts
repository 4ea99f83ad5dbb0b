import type { Client } from "../client.js";
import type { Collection, Status } from "../types.js";
import type { Metrics } from "./metrics.js";
import { StoredCollection, type Degraded } from "./stored-collection.js";
import { status } from "./refusal.js";
import type { StoredState, Storage } from "./storage.js";

/** The resources that an object holds. */
export class StoredCollections {
  readonly #client: Client;
  readonly #storage: Storage;
  readonly #shed: Map<string, Degraded>;
  readonly #metrics: Metrics;
  readonly #held = new Map<string, StoredCollection>();

  /** The map `shed` records the dropped parts, and outlives the collections. */
  constructor(client: Client, storage: Storage, shed: Map<string, Degraded>, metrics: Metrics) {
    this.#metrics = metrics;
    this.#client = client;
    this.#storage = storage;
    this.#shed = shed;
  }

  /** Opens the stored resources. Resolves when their states are loaded. */
  async restore(): Promise<void> {
    for (const stored of this.#storage.resources()) this.#held.set(stored.resource, this.#open(stored.resource, stored));
    await Promise.all([...this.#held.values()].map((collection) => collection.restored()));
  }

  get resources(): string[] {
    return [...this.#held.keys()];
  }

  collection(resource: string): Collection | undefined {
    return this.#held.get(resource)?.collection;
  }

  /** Returns the cluster ID of a resource's stored versions; empty if unknown. */
  clusterID(resource: string): string {
    return this.#held.get(resource)?.clusterID ?? "";
  }

  /**
   * Opens these resources and closes all others. Deletes the stored states of closed
   * collections, unless `retain` is set.
   */
  hold(resources: readonly string[], { retain = false } = {}): void {
    for (const [resource, collection] of this.#held) {
      if (resources.includes(resource)) continue;
      if (!retain) collection.forget();
      collection.close();
      this.#held.delete(resource);
    }
    for (const resource of resources) {
      if (this.#held.has(resource)) continue;
      const stored = retain ? this.#storage.resources().find((state) => state.resource === resource) : undefined;
      const collection = this.#open(resource, stored);
      this.#held.set(resource, collection);
      void collection.restored();
    }
  }

  /** Closes a resource and deletes its stored state. */
  forget(resource: string): void {
    const collection = this.#held.get(resource);
    collection?.close();
    collection?.forget();
    this.#held.delete(resource);
  }

  /**
   * Drops the bodies of each resource that the engine closed at the memory limit, unless the
   * resource is held without bodies already.
   */
  fitMemory(): void {
    for (const collection of this.#held.values()) {
      if (collection.ended?.code === 413 && !collection.metadataOnly) this.#withoutBodies(collection);
    }
  }

  /** Returns the bytes that each resource uses in the module. */
  async used(): Promise<Map<StoredCollection, number>> {
    const inspected = await this.#client.inspect();
    return new Map([...this.#held.values()].map((collection) => [collection, collection.used(inspected)]));
  }

  /**
   * Drops the bodies of the largest resource. If no resource has bodies, drops the
   * largest resource. Returns false if there is nothing left to drop.
   *
   * This method does not drop the history. The history contains 4,096 changes of about 110 bytes
   * each, or 0.7 kB if a change contains a whole pod. That is 0.5 to 3 MB of 32 MB, and later
   * changes fill the history again. Without the history, the pages of every running list end with a
   * 410 (rule C45). Every reader that reconnects, such as a regional object, needs a snapshot,
   * which produces more output when memory is short. A new instance of the module, which is tried
   * first if it can suffice, begins without a history anyway.
   */
  shed(used: ReadonlyMap<StoredCollection, number>): boolean {
    const held = [...used.keys()].filter(({ ended }) => !ended).sort((a, b) => used.get(b)! - used.get(a)!);
    const collection = held.find(({ metadataOnly }) => !metadataOnly) ?? held[0];
    if (!collection) return false;
    if (collection.metadataOnly) {
      const ended = tooMuch(collection.resource);
      this.#shed.set(collection.resource, { ended });
      collection.end(ended);
    } else {
      this.#withoutBodies(collection);
    }
    return true;
  }

  /** Whether bodies of a resource were dropped for lack of memory. */
  get scarce(): boolean {
    return [...this.#held.values()].some(({ metadataOnly }) => metadataOnly);
  }

  /**
   * Returns why a subscription cannot be served for lack of memory; undefined if it can be served.
   */
  refused(resource: string, metadataOnly: boolean): Status | undefined {
    const collection = this.#held.get(resource);
    if (!collection?.metadataOnly) return undefined;
    if (collection.ended) return tooMuch(resource);
    if (!metadataOnly) return status(413, "RequestEntityTooLarge", `${needsMore(resource)}, so they are held without bodies: subscribe to metadata only`);
    return undefined;
  }

  async store(now: number): Promise<void> {
    for (const collection of [...this.#held.values()]) await collection.store(now);
  }

  async report(): Promise<unknown> {
    const inspected = await this.#client.inspect();
    return Object.fromEntries([...this.#held].map(([resource, collection]) => [resource, collection.report(inspected)]));
  }

  #withoutBodies(collection: StoredCollection): void {
    this.#shed.set(collection.resource, {});
    collection.withoutBodies();
  }

  #open(resource: string, stored: StoredState | undefined): StoredCollection {
    return new StoredCollection(this.#client, this.#storage, resource, stored, this.#shed.get(resource), this.#metrics.resource(resource));
  }
}

const needsMore = (resource: string): string => `the ${resource} of this cluster need more memory than an object has`;

function tooMuch(resource: string): Status {
  return status(413, "RequestEntityTooLarge", `${needsMore(resource)}, even without bodies: divide them by namespace over several objects`);
}
