import type { ChunkHead } from "../snapshot.js";
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

/** Where a body is. */
interface Place {
  resource: string;
  generation: number;
  number: number;
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
 * others for their bodies, and one for the resource that says which of them count.
 * That one is written last, so that a state is there as a whole or as it was before.
 * An object that wakes up reads the chunks, and of the bodies those alone that have
 * what somebody looks at.
 */
export class Storage {
  readonly #storage: ObjectStorage;
  readonly #limit: number;
  readonly #memoryBytes: number;
  /** Where the bodies are that were left out, by name. */
  readonly #bodies = new Map<number, Place>();
  #lastName = 0;

  /** Takes the bytes that may be stored, and those that there are in memory. */
  constructor(storage: ObjectStorage, limit: number, memoryBytes: number) {
    this.#storage = storage;
    this.#limit = limit;
    this.#memoryBytes = memoryBytes;
    storage.sql.exec(`CREATE TABLE IF NOT EXISTS resources (resource TEXT PRIMARY KEY, version TEXT, source TEXT,
      metadata_only INTEGER, generation INTEGER, chunks INTEGER, whole_bytes INTEGER, change_bytes INTEGER)`);
    storage.sql.exec(`CREATE TABLE IF NOT EXISTS chunks (resource TEXT, generation INTEGER, number INTEGER, data BLOB,
      PRIMARY KEY (resource, generation, number))`);
    storage.sql.exec(`CREATE TABLE IF NOT EXISTS bodies (resource TEXT, generation INTEGER, number INTEGER, part INTEGER, data BLOB,
      PRIMARY KEY (resource, generation, number, part))`);
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

  /** The chunks of a resource without their bodies, read one at a time. */
  *read({ resource, generation, chunks }: Kept): Generator<ChunkHead, void, void> {
    const rows = this.#storage.sql.exec<{ number: number; data: ArrayBuffer }>(
      "SELECT number, data FROM chunks WHERE resource = ? AND generation = ? AND number < ? ORDER BY number", resource, generation, chunks);
    let chunk: ChunkHead | undefined;
    for (const { number, data } of rows) {
      chunk = chunk ? { ...chunk, data: concat([chunk.data, new Uint8Array(data)]) } : { data: new Uint8Array(data), body: this.#name({ resource, generation, number }) };
      if (chunk.data.length < Math.min(frameBytes(chunk.data), maxMessage)) continue;
      yield chunk;
      chunk = undefined;
    }
    if (chunk) yield chunk; // the engine says what is wrong with it
  }

  /** A body, by the name that {@link read} gave it. Empty if it is not there any more. */
  body(name: number): Uint8Array {
    const place = this.#bodies.get(name);
    if (!place) return new Uint8Array();
    const { resource, generation, number } = place;
    const rows = this.#storage.sql.exec<{ data: ArrayBuffer }>(
      "SELECT data FROM bodies WHERE resource = ? AND generation = ? AND number = ? ORDER BY part", resource, generation, number);
    const parts = rows.toArray().map(({ data }) => new Uint8Array(data));
    return parts.length === 1 ? parts[0]! : concat(parts);
  }

  #name(place: Place): number {
    for (const [name, other] of this.#bodies) {
      if (other.resource === place.resource && other.generation === place.generation && other.number === place.number) return name;
    }
    this.#bodies.set(++this.#lastName, place);
    return this.#lastName;
  }

  #unname(gone: (place: Place) => boolean): void {
    for (const [name, place] of this.#bodies) if (gone(place)) this.#bodies.delete(name);
  }

  /** Writes a chunk of a whole state, or of the changes since, which does not count before {@link commit}. Returns how many rows of chunks that took. Throws {@link StorageFull}. */
  write(resource: string, generation: number, number: number, data: Uint8Array): number {
    if (this.bytes + data.length > this.#limit) {
      throw new StorageFull(`${this.bytes} bytes are stored and ${data.length} more are to be, of ${this.#limit} that are allowed`);
    }
    let rows = 0;
    const headBytes = frameBytes(data);
    const body = data.subarray(headBytes);
    try {
      for (let at = 0; at < body.length; at += rowBytes) {
        this.#storage.sql.exec("INSERT OR REPLACE INTO bodies VALUES (?, ?, ?, ?, ?)", resource, generation, number, at / rowBytes, body.subarray(at, at + rowBytes));
      }
      for (let at = 0; at < headBytes; at += rowBytes, rows++) {
        this.#storage.sql.exec("INSERT OR REPLACE INTO chunks VALUES (?, ?, ?, ?)", resource, generation, number + rows, data.subarray(at, Math.min(at + rowBytes, headBytes)));
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
    this.#unname((place) => place.resource === resource && place.generation !== generation);
    for (const table of ["chunks", "bodies"]) {
      this.#storage.sql.exec(`DELETE FROM ${table} WHERE resource = ? AND (generation <> ? OR number >= ?)`, resource, generation, chunks);
    }
  }

  forget(resource: string): void {
    this.#unname((place) => place.resource === resource);
    this.#storage.transactionSync(() => {
      for (const table of ["resources", "chunks", "bodies"]) this.#storage.sql.exec(`DELETE FROM ${table} WHERE resource = ?`, resource);
    });
  }
}
