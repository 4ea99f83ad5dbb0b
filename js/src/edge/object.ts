import { Client } from "../client.js";
import { Engine } from "../engine.js";
import { messageOf } from "../errors.js";
import { openGuest } from "../guest.js";
import type { Collection } from "../types.js";
import { Alarm } from "./alarm.js";
import { Backend, backendRoot } from "./backend.js";
import { Counters } from "./counters.js";
import { IdleTracker } from "./idle-tracker.js";
import { Feeds } from "./feeds.js";
import { readGrant, unrestricted, type Grant } from "./grant.js";
import type { Degraded } from "./stored-collection.js";
import { StoredCollections } from "./stored-collections.js";
import { Debouncer } from "../debouncer.js";
import { relief, restartMillis } from "./memory.js";
import { Metrics } from "./metrics.js";
import { withDefaults, type EdgeOptions, type Settings } from "./options.js";
import type { HibernatableSocket, ObjectState } from "./platform.js";
import { Readers } from "./readers.js";
import { refusal, refuse, status } from "./refusal.js";
import { isUsed, Storage } from "./storage.js";
import { upstreamDial } from "./upstream.js";

/** The name of this client, which connectors write to their logs. */
const clientName = "watchglass-edge/" + packageVersion;

/**
 * The maximum number of changes per resource that are kept, for at most 75 seconds, so that watches
 * and pages of lists can resume. These changes use part of the memory for objects. A change to a
 * pod's status takes about 110 bytes.
 */
const maxHistory = 4_096;

/** The minimum memory for unread output, independent of the module's size. */
const leastOutputBytes = 8 << 20;

/**
 * A Durable Object that holds resources of one cluster and serves them to readers. It accepts
 * requests that carry a {@link Grant}, which must be unrestricted for `/status` and `/backend/`:
 *
 * - `/feed?resources=v1/pods,…&clusterID=ID`: the WebSocket of a connector,
 * - `/watch`: the WebSocket of a reader,
 * - `/status`: the status of the object, as JSON,
 * - `/backend/…`: the requests of the edge's HTTP server, see {@link Backend}.
 *
 * The runtime removes an idle object from memory, including the guest and its state. The
 * sockets stay open. After a short quiet period, the object therefore stores the guest's
 * state, and attaches each reader's position to the reader's socket. The next message or
 * alarm restores both.
 */
export class WatchglassObject {
  readonly #state: ObjectState;
  readonly #settings: Settings;
  readonly #metrics = new Metrics();
  readonly #module: WebAssembly.Module;
  /**
   * The parts that were dropped for lack of memory, by resource, in addition to those
   * that the storage records.
   */
  readonly #shed = new Map<string, Degraded>();
  readonly #awakeSince = Date.now();
  #restartedAt = 0;
  #relieving = false;
  /** Resolves when the object is open; undefined until it is opened. */
  #opened: Promise<void> | undefined;
  #storage!: Storage;
  #counters!: Counters;
  #idle!: IdleTracker;
  #alarm!: Alarm;
  #debouncer!: Debouncer;
  #engine!: Engine;
  #client!: Client;
  #collections!: StoredCollections;
  #feeds!: Feeds;
  #readers!: Readers;
  #backend!: Backend;

  constructor(state: ObjectState, _env: unknown, module: WebAssembly.Module, options: EdgeOptions = {}) {
    this.#state = state;
    this.#module = module;
    this.#settings = withDefaults(options);
    // If an object deletes itself while its alarm is handled, the runtime regards the alarm as
    // failed, and starts the object again. An object that has stored nothing is therefore not
    // opened before it receives a request. Otherwise it would create its tables, and remain.
    if (isUsed(state.storage)) void this.#open();
  }

  #open(): Promise<void> {
    return (this.#opened ??= this.#state.blockConcurrencyWhile(() => {
      const { storage } = this.#state;
      const { storageBytes, memoryBytes, isolateBytes, quietMillis, keepMillis, upstream } = this.#settings;
      this.#storage = new Storage(storage, storageBytes, memoryBytes + isolateBytes);
      this.#counters = new Counters(storage);
      this.#idle = new IdleTracker(storage);
      // An object without connectors and readers wakes up only to delete itself.
      const wanted = (reason: string): boolean => reason === "unused" || upstream !== undefined || this.#used;
      this.#alarm = new Alarm(storage, () => this.#tick(), wanted);
      this.#debouncer = new Debouncer(quietMillis, keepMillis, () => this.#settle());
      return this.#start();
    }));
  }

  async fetch(request: Request): Promise<Response> {
    await this.#open();
    const grant = readGrant(request.headers, Date.now());
    if ("code" in grant) return refuse(grant);
    try {
      return await this.#route(request, grant);
    } catch (error) {
      return refusal(error);
    }
  }

  webSocketMessage(socket: HibernatableSocket, message: string | ArrayBuffer): void {
    const content = typeof message === "string" ? message : new Uint8Array(message);
    if (this.#readers.has(socket)) this.#readers.message(socket, content);
    else this.#feeds.message(socket, content);
    this.#touched();
  }

  webSocketClose(socket: HibernatableSocket, code: number, reason: string): void {
    if (this.#readers.has(socket)) this.#readers.closed(socket);
    else this.#feeds.closed(socket, reason || `WebSocket code ${code}`);
    this.#watchTimes();
    this.#touched();
  }

  webSocketError(socket: HibernatableSocket, error: unknown): void {
    this.webSocketClose(socket, 1006, error instanceof Error ? error.message : "");
  }

  alarm(): void {
    if (this.#opened) this.#alarm.fired();
  }

  /**
   * Returns the collection of a resource, for the additional endpoints of a subclass; undefined if
   * the object does not hold the resource. Do not keep the result, because the collection may be
   * replaced.
   */
  protected collection(resource: string): Collection | undefined {
    return this.#opened && this.#collections.collection(resource);
  }

  async #start(): Promise<void> {
    const { memoryBytes, upstream } = this.#settings;
    this.#feeds = new Feeds(this.#state, this.#metrics);
    this.#engine = await Engine.start({
      url: "",
      dial: upstream ? upstreamDial(upstream) : this.#feeds.dial,
      guest: () => {
        const seed = crypto.getRandomValues(new BigUint64Array(1))[0]!;
        const config = { type: "Config", seed, client: clientName, maxBytes: memoryBytes, maxHistory, credit: 0 } as const;
        return openGuest(this.#module, config, (name) => this.#storage.body(name));
      },
      flushes: !upstream,
      wake: (millis) => this.#alarm.at("engine", millis),
    });
    this.#client = await Client.attach((events) => this.#engine.attach(events), async () => "");
    this.#collections = new StoredCollections(this.#client, this.#storage, this.#shed, this.#metrics);
    this.#readers = new Readers(this.#state, this.#engine, this.#settings, this.#collections, this.#counters, this.#metrics);
    this.#backend = new Backend(this.#engine, this.#collections, this.#metrics);
    await this.#collections.restore();
    this.#feeds.start(this.#engine, this.#client, this.#collections, this.#readers);
    this.#readers.start();
    this.#watchTimes();
    this.#touched();
  }

  async #route(request: Request, grant: Grant): Promise<Response> {
    const url = new URL(request.url);
    const { pathname } = url;
    const ofAll = pathname === "/status" || pathname.startsWith(backendRoot);
    if (ofAll && !unrestricted(grant)) {
      return refuse(status(403, "Forbidden", `${pathname} discloses all data of the object, and the grant does not include all of it`));
    }
    if (pathname.startsWith(backendRoot)) {
      this.#idle.again(Date.now());
      return this.#backend.answer(url);
    }
    switch (pathname) {
      case "/feed":
        if (this.#settings.upstream) return refuse(status(409, "Conflict", "this object reads from another object, and cannot be fed"));
        return this.#connected(this.#feeds.accept(request, grant));
      case "/watch":
        if (this.#settings.upstream?.resources.length === 0) return refuse(status(404, "NotFound", "the upstream object no longer exists"));
        return this.#connected(this.#readers.accept(request, grant));
      case "/status":
        return Response.json(await this.#report());
    }
    return refuse(status(404, "NotFound", `not found: ${pathname}; the endpoints are /feed, /watch and /status`));
  }

  /** Updates the deadlines after a connection attempt, and returns `response`. */
  #connected(response: Response): Response {
    this.#watchTimes();
    this.#touched();
    return response;
  }

  #tick(): void {
    const now = Date.now();
    const { since } = this.#idle;
    if (since !== 0 && since + this.#settings.unusedMillis <= now) return this.#end();
    this.#feeds.expire(now);
    this.#readers.expire(now);
    this.#engine.tick();
    this.#watchTimes();
    this.#touched();
  }

  /**
   * Enforces the memory limits after any activity, and schedules deadlines and the storage of
   * changes.
   */
  #touched(): void {
    const { upstream } = this.#settings;
    if (upstream) this.#collections.hold(this.#readers.count > 0 ? upstream.resources : [], { retain: true });
    this.#collections.fitMemory();
    this.#readers.fit(this.#outputRoom(), Date.now());
    const { deadline } = this.#readers;
    if (deadline !== this.#alarm.due("readers")) this.#alarm.at("readers", deadline);
    this.#debouncer.trigger();
    if (this.#takenBytes() > this.#settings.isolateBytes) {
      void this.#relieve();
    }
  }

  /** Returns the memory that unread output may take, in bytes. */
  #outputRoom(): number {
    return Math.max(leastOutputBytes, this.#settings.isolateBytes - this.#takenBytes());
  }

  #takenBytes(): number {
    return this.#engine.memoryBytes + this.#backend.bytes;
  }

  /** Reduces the memory of the isolate if necessary, see {@link relief}. */
  async #relieve(): Promise<void> {
    if (this.#relieving) return;
    this.#relieving = true;
    try {
      const used = await this.#collections.used();
      const what = relief({
        moduleBytes: this.#engine.memoryBytes,
        bufferBytes: this.#backend.bytes,
        usedBytes: [...used.values()].reduce((sum, bytes) => sum + bytes, 0),
        limit: this.#settings.isolateBytes,
        restarted: Date.now() < this.#restartedAt + restartMillis,
      });
      if (what === "none" || (what === "shed" && !this.#collections.shed(used))) return;
      // The data that readers follow may no longer exist. Readers receive the error when they
      // subscribe again.
      if (what === "shed") this.#readers.endAll(status(503, "ServiceUnavailable", "the object has reached its memory limit: connect again"));
      await this.#state.blockConcurrencyWhile(() => this.#restart());
    } catch (error) {
      console.error(`watchglass: the memory could not be reduced: ${messageOf(error)}`);
    } finally {
      this.#relieving = false;
    }
  }

  /** Replaces the module with a new instance, as if the object had hibernated. */
  async #restart(): Promise<void> {
    this.#counters.add("restarts");
    this.#restartedAt = Date.now();
    await this.#store();
    this.#feeds.leave();
    this.#backend.leave("its module is replaced to release memory");
    this.#client.close();
    this.#engine.close();
    await this.#start();
  }

  #watchTimes(): void {
    this.#alarm.at("expiry", earliest(this.#feeds.expiry, this.#readers.expiry));
    const now = Date.now();
    this.#idle.note(this.#used, now);
    // The alarm is also set while the object is in use, because connections may end without notice,
    // for example on a redeploy.
    this.#alarm.at("unused", (this.#idle.since || now) + this.#settings.unusedMillis);
  }

  get #used(): boolean {
    return this.#feeds.count > 0 || this.#readers.count > 0;
  }

  /**
   * Deletes the object's storage and removes the object from memory. A later request starts with an
   * empty object.
   */
  #end(): void {
    this.#alarm.at("unused", 0);
    const gone = this.#state.storage.deleteAll().then(() => this.#state.abort("the object was unused for too long, and has been deleted"));
    gone.catch((error) => console.error(`watchglass: an unused object could not be deleted: ${messageOf(error)}`));
  }

  async #store(): Promise<void> {
    await this.#collections.store(Date.now());
    this.#readers.save();
  }

  async #settle(): Promise<void> {
    await this.#store();
    if (this.#engine.memoryBytes > this.#settings.isolateBytes / 2) await this.#relieve();
  }

  async #report(): Promise<unknown> {
    const resources = await this.#collections.report();
    return {
      awakeSince: this.#awakeSince,
      settled: this.#debouncer.settled,
      feeds: this.#feeds.report(),
      resources,
      readers: this.#readers.count,
      maxReaders: this.#settings.maxReaders,
      counters: this.#counters.all,
      metrics: this.#metrics,
      subscriptions: this.#readers.subscriptions,
      requests: { watches: this.#backend.watches, waiting: this.#backend.waiting },
      memory: { module: this.#engine.memoryBytes, buffers: this.#backend.bytes, unacknowledged: this.#readers.unacknowledged, limit: this.#settings.isolateBytes },
      storage: { bytes: this.#storage.bytes, limit: this.#settings.storageBytes },
    };
  }
}

function earliest(a: number, b: number): number {
  return a === 0 || (b !== 0 && b < a) ? b : a;
}
