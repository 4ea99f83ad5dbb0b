// This module stores the states of an engine's collections in the browser, and restores them when a
// page opens the collections again.
import { Debouncer } from "../debouncer.js";
import { messageOf } from "../errors.js";
import { isKnown } from "../identity.js";
import { batchBytes } from "../member.js";
import type { Status } from "../types.js";
import { concat, fingerprint, maxMessage, Reader, Writer, type Frame } from "../wire/codec.js";
import { memberCommands, writeMemberCommand, type MemberCommand } from "../wire/commands.js";
import { readDelivery, type Delivery } from "../wire/outputs.js";
import { Database, ownerNumber, sizeOf, type Stored } from "./database.js";
import { answerFailure, answerReports, type Restore } from "./report.js";
import { readScope, type Scope } from "./scope.js";

const defaultMaxBytes = 256 << 20;
/** How long the start of an engine may wait for the storage, in milliseconds. */
const openMillis = 5_000;
/** A state is stored when changes have paused for this time, in milliseconds. */
const quietMillis = 1_000;
/** The interval at which a continuously changing state is stored, in milliseconds. */
const mostMillis = 10_000;
/**
 * Changes are appended to a stored state until they reach this share of the size of the complete
 * state. Then the complete state is stored again.
 */
const changeShare = 0.5;
/** The minimum size of the changes before the complete state is stored again, in bytes. */
const changeBytes = 64 << 10;

export interface PersistenceOptions {
  url: string;
  /** Identifies the user. Only a hash of the identity is stored. */
  identity: string;
  /** The maximum size of all stored states of the page's origin, in bytes. */
  maxBytes?: number | undefined;
}

/** A collection that pages have open, and its stored state. */
interface Persisted {
  readonly id: number;
  readonly scope: Scope;
  /** The IDs of the pages' collections with this scope. */
  readonly users: Set<number>;
  stored: Stored | undefined;
  resourceVersion: string;
  live: boolean;
  /** Whether the state exceeds the size limit, and is therefore not stored. */
  tooLarge: boolean;
}

/** The maximum number of restores in a report. */
const maxRestores = 100;

/** The engine whose collections are stored and restored. */
export interface PersistenceHost {
  /** Sends frames with IDs below {@link idsPerMember}, which belong to no member. */
  send(frames: Uint8Array): void;
}

/** Thrown when a state exceeds {@link PersistenceOptions.maxBytes}. */
class TooLarge extends Error {}

/** Thrown when the engine refuses a snapshot, for example because of a relist. */
class Refused extends Error {}

/** Stores and restores the collections of one engine. */
export class Persistence {
  readonly #database: Database;
  readonly #owner: string;
  readonly #origin: string;
  readonly #maxBytes: number;
  readonly #states = new Map<string, Stored>();
  /** The stored states of other users and connectors. */
  readonly #others: Stored[];
  readonly #byScope = new Map<string, Persisted>();
  readonly #byId = new Map<number, Persisted>();
  readonly #answers = new Map<number, (output: Delivery | undefined) => void>();
  readonly #due = new Debouncer(quietMillis, mostMillis, () => this.#storeAll());
  readonly #counts = { restored: 0, discarded: 0, stored: 0, tooLarge: 0 };
  /** The restores by scope, the oldest first. */
  readonly #restores = new Map<string, Restore>();
  readonly #endReports: () => void;
  #storing: Promise<void> = Promise.resolve();
  #release: () => void = () => {};
  #host: PersistenceHost | undefined;
  #lastId = 0;
  #off: string | undefined;

  private constructor(database: Database, owner: string, origin: string, maxBytes: number, others: Stored[]) {
    this.#database = database;
    this.#owner = owner;
    this.#origin = origin;
    this.#maxBytes = maxBytes;
    this.#others = others;
    this.#endReports = answerReports(() => ({ owner, maxBytes, off: this.#off, restores: [...this.#restores.values()] }));
  }

  /**
   * Opens the stored states of a user. Deletes the user's states from other releases, and the
   * unused states of other users of the same connector. Logs a warning and returns undefined if
   * states cannot be stored.
   */
  static async open(options: PersistenceOptions): Promise<Persistence | undefined> {
    let late: ReturnType<typeof setTimeout> | undefined;
    try {
      const timeout = new Promise<never>((_, reject) => (late = setTimeout(() => reject(new Error("the browser's storage does not respond")), openMillis)));
      return await Promise.race([Persistence.#open(options), timeout]);
    } catch (error) {
      console.warn(`watchglass: persistence is disabled: ${messageOf(error)}`);
      answerFailure(messageOf(error));
      return undefined;
    } finally {
      clearTimeout(late);
    }
  }

  static async #open({ url, identity, maxBytes = defaultMaxBytes }: PersistenceOptions): Promise<Persistence> {
    if (!(maxBytes > 0)) throw new Error(`persist.maxBytes is ${maxBytes}; expected a positive number of bytes`);
    // If the user is unknown, the next page may belong to a different user.
    if (!isKnown(identity)) throw new Error("the user is unknown; pass identity, a token, or a function that returns JWTs");
    let persistence: Persistence | undefined;
    const [owner, origin] = await Promise.all([digest([url, identity]), digest([url])]);
    const database = await Database.open(() => persistence?.stop("the stored states were deleted"));
    const release = await hold(owner);
    const states = await database.states();
    const own = states.filter((stored) => stored.owner === owner && stored.format === format);
    const others = states.filter((stored) => !own.includes(stored));
    const gone = await obsolete(others, owner, origin);
    for (const stored of gone) await database.forget(stored);
    persistence = new Persistence(database, owner, origin, maxBytes, others.filter((stored) => !gone.includes(stored)));
    persistence.#release = release;
    for (const stored of own) persistence.#states.set(stored.scope, stored);
    return persistence;
  }

  start(host: PersistenceHost): void {
    this.#host = host;
  }

  /** Stops storing and restoring the states of this engine, and keeps the stored states. */
  close(): void {
    this.#off ??= "closed";
    this.#endReports();
    this.#end();
  }

  #end(): void {
    this.#database.close();
    this.#release();
    for (const answer of this.#answers.values()) answer(undefined);
    this.#answers.clear();
  }

  /** Stops storing, and logs a warning with the reason. */
  stop(why: string): void {
    if (this.#off) return;
    this.#off = why;
    console.warn(`watchglass: nothing more is persisted: ${why}`);
    this.#end();
  }

  /**
   * Processes a command of a page before the engine does. For the first collection of a scope,
   * opens an internal collection, and restores the stored state, if any, into it. The page's
   * collection shares this state.
   */
  note({ type, payload }: Frame, step: (frames: Uint8Array) => void): void {
    if (type === memberCommands.CloseCollection[0]) return this.leave(new Reader(payload, "CloseCollection").uint32());
    if (type !== memberCommands.OpenCollection[0] || this.#off) return;
    const opened = readScope(payload);
    if (!opened) return;
    const { scope, collection } = opened;
    let persisted = this.#byScope.get(scope.key);
    if (!persisted) {
      const stored = this.#states.get(scope.key);
      persisted = { id: this.#newId(), scope, users: new Set(), stored, resourceVersion: "0", live: false, tooLarge: false };
      this.#byScope.set(scope.key, persisted);
      this.#byId.set(persisted.id, persisted);
      step(frame({ type: "OpenCollection", collection: persisted.id, ...scope.open, restore: stored !== undefined }));
      if (stored) void this.#restore(persisted, stored);
    }
    persisted.users.add(collection);
  }

  /**
   * Removes a page's collection that has closed. If it was the last one of its scope, stores the
   * state and closes the internal collection.
   */
  leave(collection: number): void {
    for (const persisted of this.#byScope.values()) {
      if (persisted.users.delete(collection) && persisted.users.size === 0) void this.#finish(persisted);
    }
  }

  /** Stores changes without waiting until they pause, because the page may end. */
  flush(): void {
    void this.#storeAll();
  }

  /**
   * Forgets the open collections and requests, because a new, empty engine replaces the old one.
   */
  restarted(): void {
    this.#byScope.clear();
    this.#byId.clear();
    for (const answer of this.#answers.values()) answer(undefined);
    this.#answers.clear();
  }

  /** Receives an output for an internal collection or request. */
  receive(frame: Frame): void {
    const output = readDelivery(frame);
    if (!output) return;
    const answer = this.#answers.get(output.id);
    if (answer) {
      this.#answers.delete(output.id);
      return answer(output);
    }
    const persisted = this.#byId.get(output.id);
    if (!persisted) return;
    if (output.type === "CollectionState") {
      persisted.live = output.state === "live";
      // Delete objects that the user may no longer read.
      if (output.state === "closed" || output.state === "forbidden") void this.#forget(persisted);
      if (output.state === "closed") return this.#drop(persisted);
      // The engine provides no snapshot until all bodies have arrived.
      const lacksBodies = persisted.scope.open.rowsFirst && output.bodies < output.objects;
      if (!persisted.live || lacksBodies || persisted.resourceVersion === output.resourceVersion) return;
      persisted.resourceVersion = output.resourceVersion;
      this.#due.trigger();
    } else if (output.type === "Rejected") {
      if (output.object !== "restore") this.#drop(persisted);
      else if (persisted.stored) this.#discard(persisted, output.status); // undefined after a discard
    }
  }

  /** Returns an InspectReply with the persistence counters added. */
  inspect({ type, payload }: Frame): Uint8Array {
    const r = new Reader(payload, "InspectReply");
    const [request, entries] = [r.uint32(), r.list(2, (): [string, number] => [r.text(), r.varint()])];
    entries.push(["persistence.off", this.#off === undefined ? 0 : 1], ["persistence.owner", ownerNumber(this.#owner)], ["persistence.collections", this.#states.size], ["persistence.bytes", this.#bytes()]);
    for (const [name, count] of Object.entries(this.#counts)) entries.push([`persistence.${name}`, count]);
    const w = new Writer();
    w.frame(type, () => {
      w.uvarint(request);
      w.uvarint(entries.length);
      for (const [name, value] of entries) {
        w.text(name);
        w.uvarint(value < 0 ? -2 * value - 1 : 2 * value);
      }
    });
    return w.take();
  }

  #send(command: MemberCommand): void {
    this.#host?.send(frame(command));
  }

  #newId(): number {
    do this.#lastId = (this.#lastId % 0xffff) + 1;
    while (this.#byId.has(this.#lastId) || this.#answers.has(this.#lastId));
    return this.#lastId;
  }

  async #restore(persisted: Persisted, stored: Stored): Promise<void> {
    let chunks = 0;
    try {
      for await (const data of this.#database.chunks(stored)) {
        chunks++;
        if (this.#byId.get(persisted.id) !== persisted) return;
        if (data.length > maxMessage - batchBytes) throw new Error(`a chunk has ${data.length} bytes`);
        this.#send({ type: "RestoreChunk", collection: persisted.id, data, end: false, body: 0 });
        if (!persisted.stored) return; // the engine has refused the state
      }
      if (chunks < stored.chunks) throw new Error(`it has ${chunks} of ${stored.chunks} chunks`);
      this.#counts.restored++;
      this.#note(persisted);
    } catch (error) {
      this.#discard(persisted, { code: 500, reason: "InternalError", message: messageOf(error) });
    }
    // The engine refuses an incomplete state, and lists instead.
    if (this.#byId.get(persisted.id) === persisted) this.#send({ type: "RestoreChunk", collection: persisted.id, data: new Uint8Array(), end: true, body: 0 });
  }

  #discard(persisted: Persisted, why: Status | undefined): void {
    const message = why?.message ?? "it was refused";
    this.#counts.discarded++;
    this.#note(persisted, message);
    console.warn(`watchglass: the stored state of ${persisted.scope.open.resource} is discarded and loaded again: ${message}`);
    void this.#forget(persisted);
  }

  /** Records the outcome of a restore for reports. */
  #note({ scope: { key: scope } }: Persisted, discarded?: string): void {
    this.#restores.delete(scope); // moves the scope to the end
    this.#restores.set(scope, { scope, time: Date.now(), discarded });
    for (const oldest of this.#restores.keys()) {
      if (this.#restores.size <= maxRestores) break;
      this.#restores.delete(oldest);
    }
  }

  async #forget(persisted: Persisted): Promise<void> {
    persisted.stored = undefined;
    if (!this.#states.delete(persisted.scope.key)) return;
    await this.#attempt(() => this.#database.forget({ owner: this.#owner, scope: persisted.scope.key }));
  }

  #drop(persisted: Persisted): void {
    this.#send({ type: "CloseCollection", collection: persisted.id });
    this.#byId.delete(persisted.id);
    if (this.#byScope.get(persisted.scope.key) === persisted) this.#byScope.delete(persisted.scope.key);
  }

  /** Stores a collection that no page uses any longer, and closes it. */
  async #finish(persisted: Persisted): Promise<void> {
    await this.#store(persisted);
    if (persisted.users.size === 0 && this.#byId.get(persisted.id) === persisted) this.#drop(persisted);
  }

  async #storeAll(): Promise<void> {
    for (const persisted of [...this.#byId.values()]) await this.#store(persisted);
  }

  /** Stores the changes of a collection since it was last stored. Calls run one after another. */
  #store(persisted: Persisted): Promise<void> {
    return (this.#storing = this.#storing.then(() => this.#storeNow(persisted)));
  }

  async #storeNow(persisted: Persisted): Promise<void> {
    const { stored, resourceVersion } = persisted;
    if (this.#off || persisted.tooLarge || !persisted.live || resourceVersion === "0" || resourceVersion === stored?.position.resourceVersion) return;
    await this.#attempt(async () => {
      try {
        await this.#storeChanges(persisted);
      } catch (error) {
        if (error instanceof TooLarge) this.#skip(persisted, error);
        else if (!(error instanceof Refused)) throw error;
      }
    });
  }

  #skip(persisted: Persisted, why: TooLarge): void {
    persisted.tooLarge = true;
    this.#counts.tooLarge++;
    console.warn(`watchglass: a state is not persisted: ${why.message}`);
  }

  async #storeChanges(persisted: Persisted): Promise<void> {
    const before = persisted.stored;
    const continues = before && before.changeBytes < Math.max(changeBytes, changeShare * before.wholeBytes);
    const since = continues ? before.position : { resourceVersion: "0", clusterID: "" };
    const key = { owner: this.#owner, scope: persisted.scope.key };
    const fresh = { ...key, generation: crypto.randomUUID() };
    const changes: Uint8Array[] = [];
    let [wholeBytes, chunks] = [0, 0];
    const request = this.#newId();
    let output = await this.#request(request, { type: "TakeSnapshot", request, collection: persisted.id, ...since, chunkBytes: 0 });
    try {
      for (;;) {
        const { whole, last, resourceVersion, clusterID } = output;
        const data = output.data.slice();
        if (whole) {
          await this.#makeRoom(persisted, (wholeBytes += data.length));
          await this.#database.put(fresh, chunks++, data);
        } else {
          changes.push(data);
        }
        if (last) return await this.#commit(persisted, before, { resourceVersion, clusterID }, whole ? { ...fresh, chunks, wholeBytes } : undefined, changes);
        output = await this.#request(request, { type: "NextChunk", request, stop: false });
      }
    } catch (error) {
      if (!(error instanceof Refused)) this.#send({ type: "NextChunk", request, stop: true });
      if (chunks > 0) await this.#database.discard(fresh);
      throw error;
    }
  }

  async #commit(persisted: Persisted, before: Stored | undefined, position: Stored["position"], whole: Pick<Stored, "owner" | "scope" | "generation" | "chunks" | "wholeBytes"> | undefined, changes: readonly Uint8Array[]): Promise<void> {
    if (!persisted.live) throw new Refused(); // the user may no longer read the collection
    const rest = { position, time: Date.now(), origin: this.#origin, format };
    const added = concat(changes).length;
    const next: Stored = whole ? { ...whole, changeBytes: 0, ...rest } : { ...before!, chunks: before!.chunks + changes.length, changeBytes: before!.changeBytes + added, ...rest };
    if (!whole) await this.#makeRoom(persisted, next.wholeBytes + next.changeBytes);
    const done = await this.#database.commit(next, before, changes);
    persisted.stored = done ? next : undefined; // otherwise the complete state is stored the next time
    if (done) this.#states.set(next.scope, next);
    this.#counts.stored++;
  }

  /**
   * Deletes unused states, the oldest first, until a state of this size fits. Throws TooLarge if
   * the state does not fit even without the unused states.
   */
  async #makeRoom(persisted: Persisted, bytes: number): Promise<void> {
    const own = sizeOf(this.#states.get(persisted.scope.key));
    while (this.#bytes() - own + bytes > this.#maxBytes) {
      const unused = [...this.#others, ...[...this.#states.values()].filter(({ scope }) => !this.#byScope.has(scope))];
      const oldest = unused.sort((a, b) => a.time - b.time)[0];
      if (!oldest) throw new TooLarge(`${persisted.scope.open.resource} needs more than the ${this.#maxBytes} bytes allowed; pass a larger persist.maxBytes`);
      await this.#database.forget(oldest);
      if (this.#states.get(oldest.scope) === oldest) this.#states.delete(oldest.scope);
      else this.#others.splice(this.#others.indexOf(oldest), 1);
    }
  }

  #bytes(): number {
    return [...this.#others, ...this.#states.values()].reduce((sum, stored) => sum + sizeOf(stored), 0);
  }

  async #request(request: number, command: MemberCommand): Promise<Delivery & { type: "SnapshotChunk" }> {
    const answer = new Promise<Delivery | undefined>((resolve) => this.#answers.set(request, resolve));
    this.#send(command);
    const output = await answer;
    if (output?.type !== "SnapshotChunk") throw new Refused();
    return output;
  }

  /**
   * Runs a database operation. If it fails, for example because the quota is exceeded, stops
   * storing states.
   */
  async #attempt(access: () => Promise<void>): Promise<void> {
    if (this.#off) return;
    try {
      await access();
    } catch (error) {
      this.stop(error instanceof DOMException ? `${error.name}: ${error.message}` : messageOf(error));
    }
  }
}

/** The format of the states that this release stores. States in other formats are not read. */
const format = `${packageVersion} ${fingerprint.toString(16)}`;

function frame(command: MemberCommand): Uint8Array<ArrayBuffer> {
  const w = new Writer();
  writeMemberCommand(w, command);
  return w.take();
}

/**
 * Returns the SHA-256 hash of values in hexadecimal, which identifies the values without revealing
 * them.
 */
async function digest(values: readonly string[]): Promise<string> {
  const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(JSON.stringify(values)));
  return Array.from(new Uint8Array(hash), (b) => b.toString(16).padStart(2, "0")).join("");
}

const lockOf = (owner: string): string => `watchglass-persistence-${owner}`;

/**
 * Acquires a shared lock that marks the states of a user as in use. Returns a function that
 * releases the lock.
 */
function hold(owner: string): Promise<() => void> {
  const { locks } = navigator;
  if (!locks) return Promise.resolve(() => {});
  return new Promise((resolve, reject) => {
    locks.request(lockOf(owner), { mode: "shared" }, () => new Promise<void>((release) => resolve(release))).catch(reject);
  });
}

/**
 * Returns the states to delete: this user's states from other releases, and states of other users
 * of the same connector that no worker uses.
 */
async function obsolete(others: readonly Stored[], owner: string, origin: string): Promise<Stored[]> {
  const used = new Set((await navigator.locks?.query())?.held?.map(({ name }) => name));
  return others.filter((stored) => stored.owner === owner || (stored.origin === origin && !used.has(lockOf(stored.owner))));
}
