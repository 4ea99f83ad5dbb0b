import type { Client } from "../client.js";
import type { Collection, Status } from "../types.js";
import { Holding } from "./holding.js";
import { status } from "./refusal.js";
import type { Storage } from "./storage.js";

/** The resources that an object holds. */
export class Holdings {
  readonly #client: Client;
  readonly #storage: Storage;
  readonly #held = new Map<string, Holding>();

  constructor(client: Client, storage: Storage) {
    this.#client = client;
    this.#storage = storage;
  }

  /** Holds what was kept. Resolves when it is there. */
  async restore(): Promise<void> {
    for (const kept of this.#storage.resources()) this.#held.set(kept.resource, new Holding(this.#client, this.#storage, kept.resource, kept));
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
      const holding = new Holding(this.#client, this.#storage, resource, kept);
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
      if (holding.ended?.code === 413 && !holding.metadataOnly) holding.withoutBodies();
    }
  }

  /** Something does not fit the memory. */
  get scarce(): boolean {
    return [...this.#held.values()].some(({ metadataOnly }) => metadataOnly);
  }

  /** Why a subscription cannot be served for lack of memory. */
  refused(resource: string, metadataOnly: boolean): Status | undefined {
    const holding = this.#held.get(resource);
    if (!holding?.metadataOnly) return undefined;
    const text = `the ${resource} of this cluster need more memory than an object has`;
    if (holding.ended) return status(413, "RequestEntityTooLarge", `${text}, even without bodies: divide them by namespace over several objects`);
    if (!metadataOnly) return status(413, "RequestEntityTooLarge", `${text}, so they are held without bodies: subscribe to metadata only`);
    return undefined;
  }

  async keep(now: number): Promise<void> {
    for (const holding of [...this.#held.values()]) await holding.keep(now);
  }

  report(): unknown {
    return Object.fromEntries([...this.#held].map(([resource, holding]) => [resource, holding.report()]));
  }
}
