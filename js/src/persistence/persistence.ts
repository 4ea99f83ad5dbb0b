// Stores the states of an engine's collections in the browser, and restores them when a
// page opens the collections again.
import { Debouncer } from "../debouncer.js";
import { messageOf } from "../errors.js";
import { batchBytes } from "../member.js";
import type { Status } from "../types.js";
import { concat, fingerprint, maxMessage, Reader, Writer, type Frame } from "../wire/codec.js";
import { memberCommandTypes, writeMemberCommand, type MemberCommand } from "../wire/commands.js";
import { readDelivery, type Delivery } from "../wire/outputs.js";
import { Database, type Stored } from "./database.js";
import { readScope, type Scope } from "./scope.js";

const defaultMaxBytes = 256 << 20;
/** How long the start of an engine may wait for the storage, in milliseconds. */
const openMillis = 5_000;
/** A state is stored when changes have paused for this time, in milliseconds. */
const quietMillis = 1_000;
/** The interval at which a continuously changing state is stored, in milliseconds. */
const mostMillis = 10_000;
/**
 * Changes are appended to a stored state until they reach this share of its size. Then
 * the complete state is stored again.
 */
const changeShare = 0.5;
/** The minimum size of changes before that. */
const changeBytes = 64 << 10;

export interface PersistenceOptions {
  url: string;
  /** Identifies the user. It is stored as a hash. */
  identity: string;
  /** The maximum size of all stored states of the page's origin. */
  maxBytes?: number | undefined;
}

/** A collection that pages have open, and its stored state. */
interface Kept {
  readonly id: number;
  readonly scope: Scope;
  /** The collections of the pages. */
  readonly users: Set<number>;
  stored: Stored | undefined;
  resourceVersion: string;
  live: boolean;
  /** It does not fit, so it is not stored. */
  tooLarge: boolean;
}

/** The engine that the states are of. */
export interface PersistenceHost {
  /** Sends frames with IDs below {@link idsPerMember}, which no member has. */
  send(frames: Uint8Array): void;
}

/** The error of a state that exceeds {@link PersistenceOptions.maxBytes}. */
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
  /** The sizes of states of other users and connectors. */
  readonly #others: Stored[];
  readonly #byScope = new Map<string, Kept>();
  readonly #byId = new Map<number, Kept>();
  readonly #answers = new Map<number, (output: Delivery | undefined) => void>();
  readonly #due = new Debouncer(quietMillis, mostMillis, () => this.#keepAll());
  readonly #counts = { restored: 0, discarded: 0, stored: 0, tooLarge: 0 };
  #keeping: Promise<void> = Promise.resolve();
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
  }

  /**
   * Opens the stored states of a user. Deletes unused states of other users of the same
   * connector, and states of other releases. Returns undefined, with a warning, where
   * nothing can be stored.
   */
  static async open(options: PersistenceOptions): Promise<Persistence | undefined> {
    let late: ReturnType<typeof setTimeout> | undefined;
    try {
      const timeout = new Promise<never>((_, reject) => (late = setTimeout(() => reject(new Error("the browser's storage does not respond")), openMillis)));
      return await Promise.race([Persistence.#open(options), timeout]);
    } catch (error) {
      console.warn(`watchglass: nothing is persisted: ${messageOf(error)}`);
      return undefined;
    } finally {
      clearTimeout(late);
    }
  }

  static async #open({ url, identity, maxBytes = defaultMaxBytes }: PersistenceOptions): Promise<Persistence> {
    if (!(maxBytes > 0)) throw new Error(`persist.maxBytes is ${maxBytes}; expected a positive number of bytes`);
    // A user that is not known may be another one the next time.
    if (identity === "token " || identity.startsWith("page ")) throw new Error("the user is unknown; pass identity, a token, or a function that returns JWTs");
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

  /** Ends the persistence of this engine. Stored states stay. */
  close(): void {
    this.#off ??= "closed";
    this.#database.close();
    this.#release();
    for (const answer of this.#answers.values()) answer(undefined);
    this.#answers.clear();
  }

  /** Stops storing, with a warning that has the reason. */
  stop(why: string): void {
    if (this.#off) return;
    this.#off = why;
    console.warn(`watchglass: nothing more is persisted: ${why}`);
    this.close();
  }

  /**
   * Processes a command of a page before the engine does. The first collection of a scope is
   * opened here, so that the page's collection shares the restored state.
   */
  note({ type, payload }: Frame, step: (frames: Uint8Array) => void): void {
    if (type === memberCommandTypes.CloseCollection) return this.leave(new Reader(payload, "CloseCollection").uint32());
    if (type !== memberCommandTypes.OpenCollection || this.#off) return;
    const opened = readScope(payload);
    if (!opened) return;
    const { scope, collection } = opened;
    let kept = this.#byScope.get(scope.key);
    if (!kept) {
      const stored = this.#states.get(scope.key);
      kept = { id: this.#newId(), scope, users: new Set(), stored, resourceVersion: "0", live: false, tooLarge: false };
      this.#byScope.set(scope.key, kept);
      this.#byId.set(kept.id, kept);
      step(frame({ type: "OpenCollection", collection: kept.id, ...scope.open, restore: stored !== undefined }));
      if (stored) void this.#restore(kept, stored);
    }
    kept.users.add(collection);
  }

  /** A page has closed a collection. */
  leave(collection: number): void {
    for (const kept of this.#byScope.values()) {
      if (kept.users.delete(collection) && kept.users.size === 0) void this.#finish(kept);
    }
  }

  /** Stores changes without waiting for more, because the page may end. */
  flush(): void {
    void this.#keepAll();
  }

  /** The engine is replaced by an empty one. */
  restarted(): void {
    this.#byScope.clear();
    this.#byId.clear();
    for (const answer of this.#answers.values()) answer(undefined);
    this.#answers.clear();
  }

  /** Receives an output for an ID of this persistence. */
  receive(frame: Frame): void {
    const output = readDelivery(frame);
    if (!output) return;
    const answer = this.#answers.get(output.id);
    if (answer) {
      this.#answers.delete(output.id);
      return answer(output);
    }
    const kept = this.#byId.get(output.id);
    if (!kept) return;
    if (output.type === "CollectionState") {
      kept.live = output.state === "live";
      // Do not keep objects that the user may no longer read.
      if (output.state === "closed" || output.state === "forbidden") void this.#forget(kept);
      if (output.state === "closed") return this.#drop(kept);
      if (!kept.live || kept.resourceVersion === output.resourceVersion) return;
      kept.resourceVersion = output.resourceVersion;
      this.#due.trigger();
    } else if (output.type === "Rejected") {
      if (output.object === "restore") this.#discard(kept, output.status);
      else this.#drop(kept);
    }
  }

  /** Adds the counters to an InspectReply. */
  inspect({ type, payload }: Frame): Uint8Array {
    const r = new Reader(payload, "InspectReply");
    const [request, entries] = [r.uint32(), r.list(2, (): [string, number] => [r.text(), r.varint()])];
    entries.push(["persistence.off", this.#off === undefined ? 0 : 1], ["persistence.collections", this.#states.size], ["persistence.bytes", this.#bytes()]);
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

  async #restore(kept: Kept, stored: Stored): Promise<void> {
    try {
      for await (const data of this.#database.chunks(stored)) {
        if (this.#byId.get(kept.id) !== kept) return;
        if (data.length > maxMessage - batchBytes) throw new Error(`a chunk has ${data.length} bytes`);
        this.#send({ type: "RestoreChunk", collection: kept.id, data, end: false, body: 0 });
        if (!kept.stored) return; // refused
      }
      this.#counts.restored++;
    } catch (error) {
      this.#discard(kept, { code: 500, reason: "InternalError", message: messageOf(error) });
    }
    // The engine refuses an incomplete state, and lists instead.
    if (this.#byId.get(kept.id) === kept) this.#send({ type: "RestoreChunk", collection: kept.id, data: new Uint8Array(), end: true, body: 0 });
  }

  #discard(kept: Kept, why: Status | undefined): void {
    this.#counts.discarded++;
    console.warn(`watchglass: the stored state of ${kept.scope.open.resource} is discarded and loaded again: ${why?.message ?? "it was refused"}`);
    void this.#forget(kept);
  }

  async #forget(kept: Kept): Promise<void> {
    kept.stored = undefined;
    if (!this.#states.delete(kept.scope.key)) return;
    await this.#attempt(() => this.#database.forget({ owner: this.#owner, scope: kept.scope.key }));
  }

  #drop(kept: Kept): void {
    this.#send({ type: "CloseCollection", collection: kept.id });
    this.#byId.delete(kept.id);
    if (this.#byScope.get(kept.scope.key) === kept) this.#byScope.delete(kept.scope.key);
  }

  /** Stores a collection that no page uses any more, and closes it. */
  async #finish(kept: Kept): Promise<void> {
    await this.#keep(kept);
    if (kept.users.size === 0 && this.#byId.get(kept.id) === kept) this.#drop(kept);
  }

  async #keepAll(): Promise<void> {
    for (const kept of [...this.#byId.values()]) await this.#keep(kept);
  }

  /** Stores the changes of a collection since the last call, after all earlier calls. */
  #keep(kept: Kept): Promise<void> {
    return (this.#keeping = this.#keeping.then(() => this.#keepNow(kept)));
  }

  async #keepNow(kept: Kept): Promise<void> {
    const { stored, resourceVersion } = kept;
    if (this.#off || kept.tooLarge || !kept.live || resourceVersion === "0" || resourceVersion === stored?.position.resourceVersion) return;
    await this.#attempt(async () => {
      try {
        await this.#take(kept);
      } catch (error) {
        if (error instanceof TooLarge) this.#skip(kept, error);
        else if (!(error instanceof Refused)) throw error;
      }
    });
  }

  #skip(kept: Kept, why: TooLarge): void {
    kept.tooLarge = true;
    this.#counts.tooLarge++;
    console.warn(`watchglass: a state is not persisted: ${why.message}`);
  }

  async #take(kept: Kept): Promise<void> {
    const before = kept.stored;
    const continues = before && before.changeBytes < Math.max(changeBytes, changeShare * before.wholeBytes);
    const since = continues ? before.position : { resourceVersion: "0", source: "" };
    const key = { owner: this.#owner, scope: kept.scope.key };
    const fresh = { ...key, generation: crypto.randomUUID() };
    const changes: Uint8Array[] = [];
    let [wholeBytes, chunks] = [0, 0];
    const request = this.#newId();
    let output = await this.#ask(request, { type: "TakeSnapshot", request, collection: kept.id, ...since, chunkBytes: 0 });
    try {
      for (;;) {
        const { whole, last, resourceVersion, source } = output;
        const data = output.data.slice();
        if (whole) {
          await this.#makeRoom(kept, (wholeBytes += data.length));
          await this.#database.put(fresh, chunks++, data);
        } else {
          changes.push(data);
        }
        if (last) return await this.#commit(kept, before, { resourceVersion, source }, whole ? { ...fresh, chunks, wholeBytes } : undefined, changes);
        output = await this.#ask(request, { type: "NextChunk", request, stop: false });
      }
    } catch (error) {
      if (!(error instanceof Refused)) this.#send({ type: "NextChunk", request, stop: true });
      if (chunks > 0) await this.#database.discard(fresh);
      throw error;
    }
  }

  async #commit(kept: Kept, before: Stored | undefined, position: Stored["position"], whole: Pick<Stored, "owner" | "scope" | "generation" | "chunks" | "wholeBytes"> | undefined, changes: readonly Uint8Array[]): Promise<void> {
    if (!kept.live) throw new Refused(); // the user may no longer read it
    const rest = { position, time: Date.now(), origin: this.#origin, format };
    const added = concat(changes).length;
    const next: Stored = whole ? { ...whole, changeBytes: 0, ...rest } : { ...before!, chunks: before!.chunks + changes.length, changeBytes: before!.changeBytes + added, ...rest };
    if (!whole) await this.#makeRoom(kept, next.wholeBytes + next.changeBytes);
    const done = await this.#database.commit(next, before, changes);
    kept.stored = done ? next : undefined; // otherwise the complete state is stored the next time
    if (done) this.#states.set(next.scope, next);
    this.#counts.stored++;
  }

  /** Deletes states that are not in use, the oldest first, so that a state of this size fits. Throws TooLarge. */
  async #makeRoom(kept: Kept, bytes: number): Promise<void> {
    const own = sizeOf(this.#states.get(kept.scope.key));
    while (this.#bytes() - own + bytes > this.#maxBytes) {
      const unused = [...this.#others, ...[...this.#states.values()].filter(({ scope }) => !this.#byScope.has(scope))];
      const oldest = unused.sort((a, b) => a.time - b.time)[0];
      if (!oldest) throw new TooLarge(`${kept.scope.open.resource} needs more than the ${this.#maxBytes} bytes allowed; pass a larger persist.maxBytes`);
      await this.#database.forget(oldest);
      if (this.#states.get(oldest.scope) === oldest) this.#states.delete(oldest.scope);
      else this.#others.splice(this.#others.indexOf(oldest), 1);
    }
  }

  #bytes(): number {
    return [...this.#others, ...this.#states.values()].reduce((sum, stored) => sum + sizeOf(stored), 0);
  }

  async #ask(request: number, command: MemberCommand): Promise<Delivery & { type: "SnapshotChunk" }> {
    const answer = new Promise<Delivery | undefined>((resolve) => this.#answers.set(request, resolve));
    this.#send(command);
    const output = await answer;
    if (output?.type !== "SnapshotChunk") throw new Refused();
    return output;
  }

  /** Runs an access to the database. One that fails ends the persistence: the quota is exceeded, or the disk is broken. */
  async #attempt(access: () => Promise<void>): Promise<void> {
    if (this.#off) return;
    try {
      await access();
    } catch (error) {
      this.stop(error instanceof DOMException ? `${error.name}: ${error.message}` : messageOf(error));
    }
  }
}

/** States of another release are not read. */
const format = `0.1.0 ${fingerprint.toString(16)}`;

const sizeOf = (stored: Stored | undefined): number => (stored ? stored.wholeBytes + stored.changeBytes : 0);

function frame(command: MemberCommand): Uint8Array<ArrayBuffer> {
  const w = new Writer();
  writeMemberCommand(w, command);
  return w.take();
}

/** Returns a text that identifies values and does not reveal them. */
async function digest(values: readonly string[]): Promise<string> {
  const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(JSON.stringify(values)));
  return Array.from(new Uint8Array(hash), (b) => b.toString(16).padStart(2, "0")).join("");
}

const lockOf = (owner: string): string => `watchglass-persistence-${owner}`;

/** Marks the states of a user as used. Returns a function that ends this. */
function hold(owner: string): Promise<() => void> {
  const { locks } = navigator;
  if (!locks) return Promise.resolve(() => {});
  return new Promise((resolve, reject) => {
    locks.request(lockOf(owner), { mode: "shared" }, () => new Promise<void>((release) => resolve(release))).catch(reject);
  });
}

/** Returns the states of other releases, and of other users of a connector that no worker uses. */
async function obsolete(others: readonly Stored[], owner: string, origin: string): Promise<Stored[]> {
  const used = new Set((await navigator.locks?.query())?.held?.map(({ name }) => name));
  return others.filter((stored) => stored.owner === owner || (stored.origin === origin && !used.has(lockOf(stored.owner))));
}
