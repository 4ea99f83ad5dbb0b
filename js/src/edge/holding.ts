import type { Client } from "../client.js";
import type { CollectionHandle } from "../collection.js";
import { idsPerMember } from "../engine.js";
import { messageOf, WatchglassError } from "../errors.js";
import type { Collection, CollectionProgress, CollectionStatus, KubeObject, Position, Status } from "../types.js";
import { StorageFull, type Kept, type Storage } from "./storage.js";

/** Changes are kept behind a whole state until they take this share of it; then the state is kept anew. */
const changeShare = 0.5;
/** And at least this many bytes of them. */
const changeBytes = 64 << 10;
/** A storage without room is tried again after this long. */
const retryMillis = 60_000;

/** What was given up of a resource for lack of memory: its bodies, and with a status all of it. */
export interface Shed {
  ended?: Status;
}

/** A resource that the object holds: in the engine, and what is kept of it in storage. */
export class Holding {
  readonly resource: string;
  readonly #client: Client;
  readonly #storage: Storage;
  #collection!: CollectionHandle<KubeObject>;
  #kept: Kept | undefined;
  #metadataOnly: boolean;
  #ended: Status | undefined;
  /** Why the last attempt to keep it failed, and when that was. */
  #failure: { message: string; at: number } | undefined;

  constructor(client: Client, storage: Storage, resource: string, kept: Kept | undefined, shed: Shed | undefined) {
    this.resource = resource;
    this.#client = client;
    this.#storage = storage;
    this.#kept = kept;
    this.#metadataOnly = kept?.metadataOnly ?? shed !== undefined;
    this.#ended = shed?.ended;
    this.#open();
    if (this.#ended) this.close();
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
      this.#lost(messageOf(error));
    }
  }

  #lost(why: string): void {
    console.error(`watchglass: what was kept of ${this.resource} is asked for anew: ${why}`);
    this.forget();
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
    if (this.#ended) return this.#ended;
    const { state, error } = this.#collection.status;
    return state === "closed" ? error : undefined;
  }

  /** Holds it without bodies from now on, because with them it needs too much memory. */
  withoutBodies(): void {
    this.#metadataOnly = true;
    this.forget();
    this.close();
    this.#open();
  }

  /** Holds nothing of it from now on. */
  end(why: Status): void {
    this.#ended = why;
    this.forget();
    this.close();
  }

  /** Bytes that it takes in the module, as the engine says of all collections. */
  used(inspected: Record<string, number>): number {
    return inspected[`collection.${this.#collection.id % idsPerMember}.usedBytes`] ?? 0;
  }

  report(): CollectionStatus & CollectionProgress & { metadataOnly: boolean; kept?: object; keepingFailed?: string } {
    const { status, progress } = this.#collection;
    const kept = this.#kept && { resourceVersion: this.#kept.position.resourceVersion, chunks: this.#kept.chunks, bytes: this.#kept.wholeBytes + this.#kept.changeBytes };
    return {
      ...status,
      ...progress,
      ...(this.#ended && { error: this.#ended }),
      metadataOnly: this.#metadataOnly,
      ...(kept && { kept }),
      ...(this.#failure && { keepingFailed: this.#failure.message }),
    };
  }

  /** Keeps what changed since it was kept last. */
  async keep(now: number): Promise<void> {
    const { status, progress } = this.#collection;
    const { resourceVersion } = progress;
    if (status.state === "closed") return;
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
    const before = this.#kept ?? { resource: this.resource, generation: 0, chunks: 0, wholeBytes: 0, changeBytes: 0 };
    const goesOn = this.#kept && before.changeBytes < Math.max(changeBytes, changeShare * before.wholeBytes);
    let position: Position | undefined;
    let next = before;
    try {
      for await (const chunk of this.#collection.snapshot({ since: goesOn ? this.#kept?.position : undefined })) {
        if (next === before && chunk.whole) next = { ...before, generation: before.generation + 1, chunks: 0, wholeBytes: 0, changeBytes: 0 };
        position = chunk.position;
        const rows = this.#storage.write(this.resource, next.generation, next.chunks, chunk.data);
        const bytes = chunk.whole ? "wholeBytes" : "changeBytes";
        next = { ...next, chunks: next.chunks + rows, [bytes]: next[bytes] + chunk.data.length };
      }
      if (!position) return;
      const kept = { ...next, position, metadataOnly: this.#metadataOnly };
      this.#storage.commit(kept);
      this.#kept = kept;
    } catch (error) {
      this.#storage.clean(before);
      throw error;
    }
  }

  #open(): void {
    const kept = this.#kept;
    this.#collection = this.#client.collection(this.resource, {
      metadataOnly: this.#metadataOnly,
      ...(kept && { restore: this.#storage.read(kept), lost: (why) => this.#lost(why.message) }),
    }) as CollectionHandle<KubeObject>;
  }
}
