import type { Client } from "../client.js";
import { messageOf, WatchglassError } from "../errors.js";
import type { Collection, CollectionStatus, Position, Status } from "../types.js";
import { StorageFull, type Kept, type Storage } from "./storage.js";

/** Changes are kept behind a whole state until they take this share of it; then the state is kept anew. */
const changeShare = 0.5;
/** And at least this many bytes of them. */
const changeBytes = 64 << 10;
/** A storage without room is tried again after this long. */
const retryMillis = 60_000;

/** A resource that the object holds: in the engine, and what is kept of it in storage. */
export class Holding {
  readonly resource: string;
  readonly #client: Client;
  readonly #storage: Storage;
  #collection!: Collection;
  #kept: Kept | undefined;
  #metadataOnly: boolean;
  /** Why the last attempt to keep it failed, and when that was. */
  #failure: { message: string; at: number } | undefined;

  constructor(client: Client, storage: Storage, resource: string, kept?: Kept) {
    this.resource = resource;
    this.#client = client;
    this.#storage = storage;
    this.#kept = kept;
    this.#metadataOnly = kept?.metadataOnly ?? false;
    this.#open();
  }

  get collection(): Collection {
    return this.#collection;
  }

  get metadataOnly(): boolean {
    return this.#metadataOnly;
  }

  /** Names the history that its versions belong to, as far as something is kept. */
  get source(): string {
    return this.#kept?.position.source ?? "";
  }

  /** Resolves when what was kept is there, or was found to be of no use and is gone. */
  async restored(): Promise<void> {
    try {
      await this.#collection.restored;
    } catch (error) {
      console.error(`watchglass: what was kept of ${this.resource} is asked for anew: ${messageOf(error)}`);
      this.forget();
    }
  }

  /** Throws away what is kept. */
  forget(): void {
    this.#storage.forget(this.resource);
    this.#kept = undefined;
  }

  close(): void {
    this.#collection.close();
  }

  /** Why it is not followed any more, for good; undefined while it is. */
  get ended(): Status | undefined {
    const { state, error } = this.#collection.status;
    return state === "closed" ? error : undefined;
  }

  /** Holds it without bodies from now on, because with them it needs too much memory. */
  withoutBodies(): void {
    this.#metadataOnly = true;
    this.forget();
    this.#open();
  }

  report(): CollectionStatus & { metadataOnly: boolean; kept?: object; keepingFailed?: string } {
    const { status } = this.#collection;
    const kept = this.#kept && { resourceVersion: this.#kept.position.resourceVersion, chunks: this.#kept.chunks, bytes: this.#kept.wholeBytes + this.#kept.changeBytes };
    return {
      ...status,
      metadataOnly: this.#metadataOnly,
      ...(kept && { kept }),
      ...(this.#failure && { keepingFailed: this.#failure.message }),
    };
  }

  /** Keeps what changed since it was kept last. */
  async keep(now: number): Promise<void> {
    const { resourceVersion } = this.#collection.status;
    if (resourceVersion === "0" || resourceVersion === this.#kept?.position.resourceVersion) return;
    if (this.#failure && now < this.#failure.at + retryMillis) return;
    try {
      await this.#take();
      this.#failure = undefined;
    } catch (error) {
      // A collection that was listed anew meanwhile is kept the next time.
      if (error instanceof WatchglassError) return;
      const message = error instanceof StorageFull ? `the storage is full, what changes is held in memory alone: ${error.message}` : messageOf(error);
      if (!this.#failure) console.error(`watchglass: ${this.resource} is not kept: ${message}`);
      this.#failure = { message, at: now };
    }
  }

  async #take(): Promise<void> {
    const kept = this.#kept;
    const goesOn = kept && kept.changeBytes < Math.max(changeBytes, changeShare * kept.wholeBytes);
    const generation = (kept?.generation ?? 0) + 1;
    const changes: Uint8Array[] = [];
    let position: Position | undefined;
    let whole = true;
    let chunks = 0;
    let bytes = 0;
    try {
      for await (const chunk of this.#collection.snapshot({ since: goesOn ? kept.position : undefined })) {
        ({ whole, position } = chunk);
        if (whole) this.#storage.write(this.resource, generation, chunks, chunk.data);
        else changes.push(chunk.data);
        chunks++;
        bytes += chunk.data.length;
      }
      if (!position) return;
      const metadataOnly = this.#metadataOnly;
      if (whole || !kept) {
        this.#commit({ resource: this.resource, position, metadataOnly, generation, chunks, wholeBytes: bytes, changeBytes: 0 });
      } else {
        this.#commit({ ...kept, position, chunks: kept.chunks + chunks, changeBytes: kept.changeBytes + bytes }, changes);
      }
    } catch (error) {
      this.#storage.abandon(this.resource, generation);
      throw error;
    }
  }

  #commit(kept: Kept, changes: Uint8Array[] = []): void {
    this.#storage.commit(kept, changes);
    this.#kept = kept;
  }

  #open(): void {
    const kept = this.#kept;
    this.#collection = this.#client.collection(this.resource, {
      metadataOnly: this.#metadataOnly,
      ...(kept && { restore: this.#storage.read(kept) }),
    });
  }
}
