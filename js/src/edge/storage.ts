import type { Position } from "../types.js";
import { concat, frameBytes, maxMessage } from "../wire/codec.js";
import type { ObjectStorage } from "./platform.js";

/** A row holds 2 MB on the platform; a chunk with a large object in it takes several. */
const rowBytes = 1 << 20;

/** What is kept of a resource. */
export interface Kept {
  resource: string;
  position: Position;
  /** Bodies were left out, because they needed more memory than there is. */
  metadataOnly: boolean;
  /** Which of the rows are it; others are of a state that was not completed. */
  generation: number;
  /** How many rows of chunks, and their bytes; of those that a whole state had, and of the changes since. */
  chunks: number;
  wholeBytes: number;
  changeBytes: number;
}

interface Row {
  resource: string;
  version: string;
  source: string;
  /** The memory that was too small for bodies; zero when they are there. */
  metadata_only: number;
  generation: number;
  chunks: number;
  whole_bytes: number;
  change_bytes: number;
}

/** The storage has no room. */
export class StorageFull extends Error {}

/**
 * The states that an object keeps, in its SQLite storage: rows for the chunks,
 * and one for the resource that says which of them count. That one is written
 * last, so that a state is there as a whole or as it was before.
 */
export class Storage {
  readonly #storage: ObjectStorage;
  readonly #limit: number;
  readonly #memoryBytes: number;

  /** Takes the bytes that may be stored, and those that there are in memory. */
  constructor(storage: ObjectStorage, limit: number, memoryBytes: number) {
    this.#storage = storage;
    this.#limit = limit;
    this.#memoryBytes = memoryBytes;
    storage.sql.exec(`CREATE TABLE IF NOT EXISTS resources (resource TEXT PRIMARY KEY, version TEXT, source TEXT,
      metadata_only INTEGER, generation INTEGER, chunks INTEGER, whole_bytes INTEGER, change_bytes INTEGER)`);
    storage.sql.exec(`CREATE TABLE IF NOT EXISTS chunks (resource TEXT, generation INTEGER, number INTEGER, data BLOB,
      PRIMARY KEY (resource, generation, number))`);
    // What was kept without bodies is asked for anew once there is more memory than then.
    const outgrown = storage.sql.exec<Row>("SELECT * FROM resources WHERE metadata_only BETWEEN 1 AND ?", memoryBytes - 1);
    for (const { resource } of outgrown.toArray()) this.forget(resource);
  }

  /** Bytes that it takes. */
  get bytes(): number {
    return this.#storage.sql.databaseSize;
  }

  resources(): Kept[] {
    return this.#storage.sql
      .exec<Row>("SELECT * FROM resources ORDER BY resource")
      .toArray()
      .map((row) => ({
        resource: row.resource,
        position: { resourceVersion: row.version, source: row.source },
        metadataOnly: row.metadata_only > 0,
        generation: row.generation,
        chunks: row.chunks,
        wholeBytes: row.whole_bytes,
        changeBytes: row.change_bytes,
      }));
  }

  /** The chunks of a resource, read one at a time. */
  *read({ resource, generation, chunks }: Kept): Generator<Uint8Array, void, void> {
    const rows = this.#storage.sql.exec<{ data: ArrayBuffer }>(
      "SELECT data FROM chunks WHERE resource = ? AND generation = ? AND number < ? ORDER BY number", resource, generation, chunks);
    let chunk = new Uint8Array();
    for (const { data } of rows) {
      chunk = chunk.length === 0 ? new Uint8Array(data) : concat([chunk, new Uint8Array(data)]);
      if (chunk.length < Math.min(frameBytes(chunk), maxMessage)) continue;
      yield chunk;
      chunk = new Uint8Array();
    }
    if (chunk.length > 0) yield chunk; // the engine says what is wrong with it
  }

  /** Writes a chunk of a whole state, or of the changes since, which does not count before {@link commit}. Returns how many rows that took. Throws {@link StorageFull}. */
  write(resource: string, generation: number, number: number, data: Uint8Array): number {
    if (this.bytes + data.length > this.#limit) {
      throw new StorageFull(`${this.bytes} bytes are stored and ${data.length} more are to be, of ${this.#limit} that are allowed`);
    }
    let rows = 0;
    try {
      for (let at = 0; at < data.length; at += rowBytes, rows++) {
        this.#storage.sql.exec("INSERT OR REPLACE INTO chunks VALUES (?, ?, ?, ?)", resource, generation, number + rows, data.subarray(at, at + rowBytes));
      }
      return rows;
    } catch (error) {
      throw new StorageFull(error instanceof Error ? error.message : String(error));
    }
  }

  /** Makes what was written count. */
  commit(kept: Kept): void {
    const { resource, position, metadataOnly, generation, chunks, wholeBytes, changeBytes } = kept;
    this.#storage.transactionSync(() => {
      this.#storage.sql.exec("INSERT OR REPLACE INTO resources VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        resource, position.resourceVersion, position.source, metadataOnly ? this.#memoryBytes : 0, generation, chunks, wholeBytes, changeBytes);
      this.clean(kept);
    });
  }

  /** Throws away what does not count. */
  clean({ resource, generation, chunks }: Pick<Kept, "resource" | "generation" | "chunks">): void {
    this.#storage.sql.exec("DELETE FROM chunks WHERE resource = ? AND (generation <> ? OR number >= ?)", resource, generation, chunks);
  }

  forget(resource: string): void {
    this.#storage.transactionSync(() => {
      this.#storage.sql.exec("DELETE FROM resources WHERE resource = ?", resource);
      this.#storage.sql.exec("DELETE FROM chunks WHERE resource = ?", resource);
    });
  }
}
