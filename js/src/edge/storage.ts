import type { ChunkHead } from "../snapshot.js";
import type { Position } from "../types.js";
import { concat, frameBytes, maxMessage } from "../wire/codec.js";
import type { ObjectStorage } from "./platform.js";

/**
 * The maximum size of a row in bytes, below the platform's 2 MB. A chunk with a large object takes
 * several rows.
 */
const rowBytes = 1 << 20;

/** The stored state of a resource. */
export interface StoredState {
  resource: string;
  position: Position;
  /** Whether bodies were omitted because they needed too much memory. */
  metadataOnly: boolean;
  /** The generation of the state's rows. Rows of other generations belong to incomplete states. */
  generation: number;
  /**
   * The number of rows that the chunks take. `wholeBytes` is the size of the complete state, and
   * `changeBytes` the size of the later changes.
   */
  chunks: number;
  wholeBytes: number;
  changeBytes: number;
}

/** The key of the rows that store a body. */
interface StoredBody {
  resource: string;
  generation: number;
  number: number;
}

interface Row {
  resource: string;
  version: string;
  source: string;
  /** The memory limit that was too small for bodies; zero if bodies are stored. */
  metadata_only: number;
  generation: number;
  chunks: number;
  whole_bytes: number;
  change_bytes: number;
}

/** Reports whether an object has used its storage. */
export function isUsed({ sql }: ObjectStorage): boolean {
  return sql.exec("SELECT 1 FROM sqlite_master WHERE name = 'resources'").toArray().length > 0;
}

/** Thrown if the storage is full. */
export class StorageFull extends Error {}

/**
 * The states in an object's SQLite storage: rows for the chunks, rows for their bodies, and one row
 * per resource that identifies the valid rows. The row of a resource is written last, so that
 * updates are atomic. A Durable Object that wakes up reads the chunks. It reads a body only when a
 * Kubernetes object in that body is read.
 */
export class Storage {
  readonly #storage: ObjectStorage;
  readonly #limit: number;
  readonly #memoryBytes: number;
  /** The keys of the bodies that {@link read} omitted, by name. */
  readonly #bodies = new Map<number, StoredBody>();
  #lastName = 0;

  /** Opens the storage with limits for stored bytes and for memory. */
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
    // If the memory limit has grown, a state without bodies is discarded, so that it is
    // loaded again.
    const outgrown = storage.sql.exec<Row>("SELECT * FROM resources WHERE metadata_only BETWEEN 1 AND ?", memoryBytes - 1);
    for (const { resource } of outgrown.toArray()) this.forget(resource);
  }

  /** The size of the object's database in bytes. */
  get bytes(): number {
    return this.#storage.sql.databaseSize;
  }

  resources(): StoredState[] {
    return this.#storage.sql
      .exec<Row>("SELECT * FROM resources ORDER BY resource")
      .toArray()
      .map((row) => ({
        resource: row.resource,
        position: { resourceVersion: row.version, clusterID: row.source },
        metadataOnly: row.metadata_only > 0,
        generation: row.generation,
        chunks: row.chunks,
        wholeBytes: row.whole_bytes,
        changeBytes: row.change_bytes,
      }));
  }

  /** Yields the chunks of a resource without their bodies, one at a time. */
  *read({ resource, generation, chunks }: StoredState): Generator<ChunkHead, void, void> {
    const rows = this.#storage.sql.exec<{ number: number; data: ArrayBuffer }>(
      "SELECT number, data FROM chunks WHERE resource = ? AND generation = ? AND number < ? ORDER BY number", resource, generation, chunks);
    let chunk: ChunkHead | undefined;
    for (const { number, data } of rows) {
      chunk = chunk ? { ...chunk, data: concat([chunk.data, new Uint8Array(data)]) } : { data: new Uint8Array(data), body: this.#name({ resource, generation, number }) };
      if (chunk.data.length < Math.min(frameBytes(chunk.data), maxMessage)) continue;
      yield chunk;
      chunk = undefined;
    }
    if (chunk) yield chunk; // the chunk is incomplete, and the engine reports the error
  }

  /** Returns the body with a name that {@link read} assigned; empty if it no longer exists. */
  body(name: number): Uint8Array {
    const stored = this.#bodies.get(name);
    if (!stored) return new Uint8Array();
    const { resource, generation, number } = stored;
    const rows = this.#storage.sql.exec<{ data: ArrayBuffer }>(
      "SELECT data FROM bodies WHERE resource = ? AND generation = ? AND number = ? ORDER BY part", resource, generation, number);
    const parts = rows.toArray().map(({ data }) => new Uint8Array(data));
    return parts.length === 1 ? parts[0]! : concat(parts);
  }

  #name(stored: StoredBody): number {
    for (const [name, other] of this.#bodies) {
      if (other.resource === stored.resource && other.generation === stored.generation && other.number === stored.number) return name;
    }
    this.#bodies.set(++this.#lastName, stored);
    return this.#lastName;
  }

  #unname(gone: (stored: StoredBody) => boolean): void {
    for (const [name, stored] of this.#bodies) if (gone(stored)) this.#bodies.delete(name);
  }

  /**
   * Writes a chunk of a complete state or of the following changes. The chunk becomes valid with
   * {@link commit}. Returns the number of rows that the chunk takes, without the rows of its body.
   * Throws {@link StorageFull} if the storage is full.
   */
  write(resource: string, generation: number, number: number, data: Uint8Array): number {
    if (this.bytes + data.length > this.#limit) {
      throw new StorageFull(`storing ${data.length} bytes in addition to ${this.bytes} exceeds the limit of ${this.#limit}`);
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

  /** Makes the written chunks of a state valid, and deletes all other rows of the resource. */
  commit(state: StoredState): void {
    const { resource, position, metadataOnly, generation, chunks, wholeBytes, changeBytes } = state;
    this.#storage.transactionSync(() => {
      this.#storage.sql.exec("INSERT OR REPLACE INTO resources VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        resource, position.resourceVersion, position.clusterID, metadataOnly ? this.#memoryBytes : 0, generation, chunks, wholeBytes, changeBytes);
      this.clean(state);
    });
  }

  /** Deletes the rows of a resource that do not belong to this state. */
  clean({ resource, generation, chunks }: Pick<StoredState, "resource" | "generation" | "chunks">): void {
    this.#unname((stored) => stored.resource === resource && stored.generation !== generation);
    for (const table of ["chunks", "bodies"]) {
      this.#storage.sql.exec(`DELETE FROM ${table} WHERE resource = ? AND (generation <> ? OR number >= ?)`, resource, generation, chunks);
    }
  }

  forget(resource: string): void {
    this.#unname((stored) => stored.resource === resource);
    this.#storage.transactionSync(() => {
      for (const table of ["resources", "chunks", "bodies"]) this.#storage.sql.exec(`DELETE FROM ${table} WHERE resource = ?`, resource);
    });
  }
}
