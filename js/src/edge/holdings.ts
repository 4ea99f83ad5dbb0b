import type { Client } from "../client.js";
import type { Collection, Status } from "../types.js";
import { Holding, type Degraded } from "./holding.js";
import { status } from "./refusal.js";
import type { StoredState, Storage } from "./storage.js";

/** The resources that an object holds. */
export class Holdings {
  readonly #client: Client;
  readonly #storage: Storage;
  readonly #shed: Map<string, Degraded>;
  readonly #held = new Map<string, Holding>();

  /** The map records dropped parts and outlives the holdings. */
  constructor(client: Client, storage: Storage, shed: Map<string, Degraded>) {
    this.#client = client;
    this.#storage = storage;
    this.#shed = shed;
  }

  /** Opens the stored resources. Resolves when their states are loaded. */
  async restore(): Promise<void> {
    for (const stored of this.#storage.resources()) this.#held.set(stored.resource, this.#holding(stored.resource, stored));
    await Promise.all([...this.#held.values()].map((holding) => holding.restored()));
  }

  get resources(): string[] {
    return [...this.#held.keys()];
  }

  collection(resource: string): Collection | undefined {
    return this.#held.get(resource)?.collection;
  }

  /** Returns the history of a resource's versions; empty if unknown. */
  source(resource: string): string {
    return this.#held.get(resource)?.source ?? "";
  }

  /**
   * Opens these resources and closes all others. Deletes the stored states of closed
   * ones, unless `retain` is set.
   */
  hold(resources: readonly string[], { retain = false } = {}): void {
    for (const [resource, holding] of this.#held) {
      if (resources.includes(resource)) continue;
      if (!retain) holding.forget();
      holding.close();
      this.#held.delete(resource);
    }
    for (const resource of resources) {
      if (this.#held.has(resource)) continue;
      const stored = retain ? this.#storage.resources().find((state) => state.resource === resource) : undefined;
      const holding = this.#holding(resource, stored);
      this.#held.set(resource, holding);
      void holding.restored();
    }
  }

  /** Closes a resource and deletes its stored state. */
  forget(resource: string): void {
    const holding = this.#held.get(resource);
    holding?.close();
    holding?.forget();
    this.#held.delete(resource);
  }

  /** Drops the bodies of resources that exceed the memory limit, if that helps. */
  fitMemory(): void {
    for (const holding of this.#held.values()) {
      if (holding.ended?.code === 413 && !holding.metadataOnly) this.#withoutBodies(holding);
    }
  }

  /** Returns the memory of each resource in the module. */
  async used(): Promise<Map<Holding, number>> {
    const inspected = await this.#client.inspect();
    return new Map([...this.#held.values()].map((holding) => [holding, holding.used(inspected)]));
  }

  /**
   * Drops the bodies of the largest resource. If no resource has bodies, drops the
   * largest resource. Returns false if there is nothing left to drop.
   *
   * It does not drop the history. The history contains 4,096 changes of about 110 bytes
   * each, or 0.7 kB if a change contains a whole pod. That is 0.5 to 3 MB of 32, and
   * later changes fill it again. Without the history, the pages of every running list
   * end with a 410 (rule C45). Every reader that reconnects, such as a region, takes a
   * snapshot, which needs more output when memory is short. A new instance of the
   * module, which is tried first if it can suffice, begins without a history anyway.
   */
  shed(used: ReadonlyMap<Holding, number>): boolean {
    const held = [...used.keys()].filter(({ ended }) => !ended).sort((a, b) => used.get(b)! - used.get(a)!);
    const holding = held.find(({ metadataOnly }) => !metadataOnly) ?? held[0];
    if (!holding) return false;
    if (holding.metadataOnly) {
      const ended = tooMuch(holding.resource);
      this.#shed.set(holding.resource, { ended });
      holding.end(ended);
    } else {
      this.#withoutBodies(holding);
    }
    return true;
  }

  /** Whether a resource exceeds the memory limit. */
  get scarce(): boolean {
    return [...this.#held.values()].some(({ metadataOnly }) => metadataOnly);
  }

  /** Returns why a subscription cannot be served for lack of memory. */
  refused(resource: string, metadataOnly: boolean): Status | undefined {
    const holding = this.#held.get(resource);
    if (!holding?.metadataOnly) return undefined;
    if (holding.ended) return tooMuch(resource);
    if (!metadataOnly) return status(413, "RequestEntityTooLarge", `${needsMore(resource)}, so they are held without bodies: subscribe to metadata only`);
    return undefined;
  }

  async store(now: number): Promise<void> {
    for (const holding of [...this.#held.values()]) await holding.store(now);
  }

  report(): unknown {
    return Object.fromEntries([...this.#held].map(([resource, holding]) => [resource, holding.report()]));
  }

  #withoutBodies(holding: Holding): void {
    this.#shed.set(holding.resource, {});
    holding.withoutBodies();
  }

  #holding(resource: string, stored: StoredState | undefined): Holding {
    return new Holding(this.#client, this.#storage, resource, stored, this.#shed.get(resource));
  }
}

const needsMore = (resource: string): string => `the ${resource} of this cluster need more memory than an object has`;

function tooMuch(resource: string): Status {
  return status(413, "RequestEntityTooLarge", `${needsMore(resource)}, even without bodies: divide them by namespace over several objects`);
}
