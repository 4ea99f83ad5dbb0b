import type { Position } from "../types.js";

/** The name of the database of an origin. {@link clearPersisted} deletes it. */
export const databaseName = "watchglass";

/** The stored state of a collection. */
export interface Stored {
  /** A hash of the connector's URL and the user's identity, which reveals neither. */
  owner: string;
  /** The options that determine the contents of the collection, as JSON. */
  scope: string;
  /** A hash of the connector's URL. */
  origin: string;
  /** The format of the chunks, which depends on the release. */
  format: string;
  /**
   * The generation of the chunks, a random ID. Chunks of other generations belong to incomplete
   * states.
   */
  generation: string;
  chunks: number;
  /**
   * The size of the chunks of the complete state, in bytes. {@link changeBytes} is the size of the
   * chunks with later changes.
   */
  wholeBytes: number;
  changeBytes: number;
  position: Position;
  /** When the state was stored, in milliseconds since the epoch. */
  time: number;
}

/**
 * Returns the first 32 bits of an owner as a number. Statistics can contain only numbers. An
 * inspector uses this number to find the states of its page.
 */
export const ownerNumber = (owner: string): number => Number.parseInt(owner.slice(0, 8), 16);

export const sizeOf = (stored: Stored | undefined): number => (stored ? stored.wholeBytes + stored.changeBytes : 0);

/**
 * Returns all states that are stored on the origin, for all users and releases, without their
 * chunks. Does not create a missing database. Closes the connection afterwards, so that other pages
 * can delete the database.
 */
export async function readStates(): Promise<Stored[]> {
  const request = indexedDB.open(databaseName);
  let missing = false;
  request.onupgradeneeded = () => {
    missing = true;
    request.transaction!.abort(); // otherwise, the browser would create the database
  };
  try {
    const db = await result(request);
    const read = result<Stored[]>(db.transaction("states").objectStore("states").getAll());
    return await read.finally(() => db.close());
  } catch (error) {
    if (missing) return [];
    throw error;
  }
}

/** The number of chunks that are read at a time. */
const readChunks = 8;

/**
 * The states in IndexedDB: one row per chunk, and one row per collection that records which chunks
 * are valid. The row of the collection is written last, so that updates are atomic.
 */
export class Database {
  readonly #db: IDBDatabase;

  private constructor(db: IDBDatabase) {
    this.#db = db;
  }

  /**
   * Opens the database. Calls `deleted` when another page deletes the database. Rejects if
   * IndexedDB is unavailable.
   */
  static async open(deleted: () => void): Promise<Database> {
    if (typeof indexedDB !== "object") throw new Error("there is no IndexedDB here");
    const request = indexedDB.open(databaseName, 1);
    request.onupgradeneeded = () => {
      request.result.createObjectStore("states", { keyPath: ["owner", "scope"] });
      request.result.createObjectStore("chunks");
    };
    const db = await result(request);
    db.onversionchange = () => {
      db.close();
      deleted();
    };
    return new Database(db);
  }

  states(): Promise<Stored[]> {
    return result<Stored[]>(this.#db.transaction("states").objectStore("states").getAll());
  }

  /** Yields the chunks of a state. Reads the next chunks while the caller processes some. */
  async *chunks(stored: Stored): AsyncGenerator<Uint8Array, void, void> {
    const read = (number: number): Promise<Uint8Array[]> => {
      const range = IDBKeyRange.bound(chunkKey(stored, number), chunkKey(stored, Math.min(number + readChunks, stored.chunks)), false, true);
      const chunks = result<Uint8Array[]>(this.#db.transaction("chunks").objectStore("chunks").getAll(range));
      chunks.catch(() => {}); // the caller may stop before it awaits these chunks
      return chunks;
    };
    let next = read(0);
    for (let number = 0; number < stored.chunks; number += readChunks) {
      const chunks = await next;
      if (number + readChunks < stored.chunks) next = read(number + readChunks);
      yield* chunks;
    }
  }

  /** Writes a chunk of a new generation. The chunk becomes valid when {@link commit} succeeds. */
  put(generation: Pick<Stored, "owner" | "scope" | "generation">, number: number, data: Uint8Array): Promise<void> {
    const transaction = this.#db.transaction("chunks", "readwrite");
    transaction.objectStore("chunks").put(data, chunkKey(generation, number));
    return finished(transaction);
  }

  /**
   * Appends the changes since `before`, and makes the state valid. Deletes all other chunks of the
   * collection. Returns true when the state is stored. Returns false, and writes nothing, if
   * another worker has replaced the state `before` or deleted the chunks.
   */
  async commit(next: Stored, before: Stored | undefined, changes: readonly Uint8Array[]): Promise<boolean> {
    const transaction = this.#db.transaction(["states", "chunks"], "readwrite", { durability: "relaxed" });
    const [states, chunks] = [transaction.objectStore("states"), transaction.objectStore("chunks")];
    if (changes.length > 0) {
      const now = await result<Stored | undefined>(states.get([next.owner, next.scope]));
      if (now?.generation !== before?.generation || now?.chunks !== before?.chunks) return false;
      changes.forEach((data, i) => chunks.put(data, chunkKey(next, before!.chunks + i)));
    }
    const range = IDBKeyRange.bound(chunkKey(next, 0), chunkKey(next, next.chunks), false, true);
    if ((await result(chunks.count(range))) !== next.chunks) {
      transaction.abort();
      return false;
    }
    states.put(next);
    chunks.delete(IDBKeyRange.bound([next.owner, next.scope], chunkKey(next, 0), false, true));
    chunks.delete(IDBKeyRange.bound(chunkKey(next, next.chunks), [next.owner, next.scope, []], false, true));
    await finished(transaction);
    return true;
  }

  /** Deletes chunks that were never committed. */
  discard(generation: Pick<Stored, "owner" | "scope" | "generation">): Promise<void> {
    const transaction = this.#db.transaction("chunks", "readwrite");
    transaction.objectStore("chunks").delete(IDBKeyRange.bound(chunkKey(generation, 0), chunkKey(generation, Infinity)));
    return finished(transaction);
  }

  forget({ owner, scope }: Pick<Stored, "owner" | "scope">): Promise<void> {
    const transaction = this.#db.transaction(["states", "chunks"], "readwrite");
    transaction.objectStore("states").delete([owner, scope]);
    transaction.objectStore("chunks").delete(IDBKeyRange.bound([owner, scope], [owner, scope, []]));
    return finished(transaction);
  }

  close(): void {
    this.#db.close();
  }
}

const chunkKey = ({ owner, scope, generation }: Pick<Stored, "owner" | "scope" | "generation">, number: number): IDBValidKey => [owner, scope, generation, number];

function result<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

function finished(transaction: IDBTransaction): Promise<void> {
  return new Promise((resolve, reject) => {
    transaction.oncomplete = () => resolve();
    transaction.onerror = transaction.onabort = () => reject(transaction.error);
  });
}
