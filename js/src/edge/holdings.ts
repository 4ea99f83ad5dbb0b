import type { Client } from "../client.js";
import type { Collection } from "../types.js";

/** The resources that an object holds. */
export class Holdings {
  readonly #client: Client;
  readonly #collections = new Map<string, Collection>();

  constructor(client: Client) {
    this.#client = client;
  }

  get resources(): string[] {
    return [...this.#collections.keys()];
  }

  collection(resource: string): Collection | undefined {
    return this.#collections.get(resource);
  }

  /** Holds these resources and no others. */
  hold(resources: readonly string[]): void {
    for (const [resource, collection] of this.#collections) {
      if (resources.includes(resource)) continue;
      collection.close();
      this.#collections.delete(resource);
    }
    for (const resource of resources) {
      if (!this.#collections.has(resource)) this.#collections.set(resource, this.#client.collection(resource));
    }
  }

  report(): unknown {
    return Object.fromEntries([...this.#collections].map(([resource, { status }]) => [resource, status]));
  }
}
