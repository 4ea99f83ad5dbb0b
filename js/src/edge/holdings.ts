import type { Client } from "../client.js";
import type { Collection, Status } from "../types.js";
import { Holding, type Shed } from "./holding.js";
import { status } from "./refusal.js";
import type { Kept, Storage } from "./storage.js";

/** The resources that an object holds. */
export class Holdings {
  readonly #client: Client;
  readonly #storage: Storage;
  readonly #shed: Map<string, Shed>;
  readonly #held = new Map<string, Holding>();

  /** What was shed is noted down in the map, and stays so. */
  constructor(client: Client, storage: Storage, shed: Map<string, Shed>) {
    this.#client = client;
    this.#storage = storage;
    this.#shed = shed;
  }

  /** Holds what was kept. Resolves when it is there. */
  async restore(): Promise<void> {
    for (const kept of this.#storage.resources()) this.#held.set(kept.resource, this.#holding(kept.resource, kept));
    await Promise.all([...this.#held.values()].map((holding) => holding.restored()));
  }

  get resources(): string[] {
    return [...this.#held.keys()];
  }

  collection(resource: string): Collection | undefined {
    return this.#held.get(resource)?.collection;
  }

  /** Names the history that the versions of a resource belong to; empty when none is known. */
  source(resource: string): string {
    return this.#held.get(resource)?.source ?? "";
  }

  /** Holds these resources and no others. What is kept of others is forgotten, unless told otherwise. */
  hold(resources: readonly string[], { keep = false } = {}): void {
    for (const [resource, holding] of this.#held) {
      if (resources.includes(resource)) continue;
      if (!keep) holding.forget();
      holding.close();
      this.#held.delete(resource);
    }
    for (const resource of resources) {
      if (this.#held.has(resource)) continue;
      const kept = keep ? this.#storage.resources().find((kept) => kept.resource === resource) : undefined;
      const holding = this.#holding(resource, kept);
      this.#held.set(resource, holding);
      void holding.restored();
    }
  }

  /** Holds a resource no longer, and keeps nothing of it. */
  forget(resource: string): void {
    const holding = this.#held.get(resource);
    holding?.close();
    holding?.forget();
    this.#held.delete(resource);
  }

  /** Those that need more memory than there is go on without bodies, if that helps. */
  fitMemory(): void {
    for (const holding of this.#held.values()) {
      if (holding.ended?.code === 413 && !holding.metadataOnly) this.#withoutBodies(holding);
    }
  }

  /** Bytes that each resource takes in the module. */
  async used(): Promise<Map<Holding, number>> {
    const inspected = await this.#client.inspect();
    return new Map([...this.#held.values()].map((holding) => [holding, holding.used(inspected)]));
  }

  /**
   * Gives up the bodies of what takes most; when nothing has any, all of that. False when nothing is left to give up.
   *
   * Not the history, though that would be missed less: it is 4,096 changes of about 110 bytes, or 0.7 kB where a change
   * is a whole pod, so 0.5 to 3 MB of 32, and is as large again as many changes later. Without it the pages of every list
   * under way end with a 410 (rule C45), and whoever connects again, each region among them, takes a snapshot: more to
   * send just when memory is short. A new instance of the module, which is tried before where it can be enough, begins
   * without a history anyway.
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

  /** Something does not fit the memory. */
  get scarce(): boolean {
    return [...this.#held.values()].some(({ metadataOnly }) => metadataOnly);
  }

  /** Why a subscription cannot be served for lack of memory. */
  refused(resource: string, metadataOnly: boolean): Status | undefined {
    const holding = this.#held.get(resource);
    if (!holding?.metadataOnly) return undefined;
    if (holding.ended) return tooMuch(resource);
    if (!metadataOnly) return status(413, "RequestEntityTooLarge", `${needsMore(resource)}, so they are held without bodies: subscribe to metadata only`);
    return undefined;
  }

  async keep(now: number): Promise<void> {
    for (const holding of [...this.#held.values()]) await holding.keep(now);
  }

  report(): unknown {
    return Object.fromEntries([...this.#held].map(([resource, holding]) => [resource, holding.report()]));
  }

  #withoutBodies(holding: Holding): void {
    this.#shed.set(holding.resource, {});
    holding.withoutBodies();
  }

  #holding(resource: string, kept: Kept | undefined): Holding {
    return new Holding(this.#client, this.#storage, resource, kept, this.#shed.get(resource));
  }
}

const needsMore = (resource: string): string => `the ${resource} of this cluster need more memory than an object has`;

function tooMuch(resource: string): Status {
  return status(413, "RequestEntityTooLarge", `${needsMore(resource)}, even without bodies: divide them by namespace over several objects`);
}
