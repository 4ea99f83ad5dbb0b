import type {
  Cell, Collection, CollectionProgress, CollectionStatus, KubeObject, ListResult, Opened, Row, Schema, State, Status, View, ViewOptions, ViewSnapshot, Watch, WatchEvent, Watchglass,
} from "watchglass";
import { type Item, NODES, PODS, makeNode, makePod, objectOf, random } from "./objects.ts";
import { Refused, parseFields, parseLabels } from "./selectors.ts";

/**
 * A cluster in the page's memory, with the interface of the package. Tests access it as
 * `fake`.
 */
export class FakeWatchglass implements Watchglass {
  readonly #pods: FakeCollection;
  readonly #nodes: FakeCollection;
  reconnects = 0;

  constructor(pods: number) {
    const next = random(7);
    this.#pods = new FakeCollection(PODS, Array.from({ length: pods }, (_, i) => makePod(i, next)));
    this.#nodes = new FakeCollection(NODES, Array.from({ length: 120 }, (_, i) => makeNode(i)));
  }

  get pods(): FakeCollection {
    return this.#pods;
  }

  collection<T extends object>(resource: string): Collection<T> {
    const found = { "v1/pods": this.#pods, "v1/nodes": this.#nodes }[resource];
    if (found) found.reopen();
    return (found ?? new UnknownCollection(resource)) as unknown as Collection<T>;
  }

  object(): never {
    throw new Error("the page takes no references to single objects");
  }

  /** Connects, loads, and becomes live. */
  async sync(stepMillis: number): Promise<void> {
    for (const collection of [this.#pods, this.#nodes]) {
      for (const part of [0.2, 0.7]) {
        collection.setStatus({ state: "syncing", loaded: Math.floor(collection.size * part), total: collection.size });
        if (stepMillis) await new Promise((resolve) => setTimeout(resolve, stepMillis));
      }
      collection.goLive();
    }
  }

  reconnect(): void {
    this.reconnects++;
    this.#pods.goLive();
    this.#nodes.goLive();
  }

  async inspect(): Promise<Record<string, number>> {
    return { "collection.1.objects": this.#pods.size };
  }

  opened(): Opened[] {
    return [{ type: "collection", id: 1, resource: "v1/pods", options: {}, collection: this.#pods }];
  }

  close(): void {}
  [Symbol.dispose](): void {}
  async [Symbol.asyncDispose](): Promise<void> {}
}

/** The common part of the fake stores: objects, listeners, and one notification per frame. */
export class FakeCollection implements Collection {
  readonly #schema: Schema;
  readonly #items = new Map<string, Item>();
  readonly #views = new Set<FakeView>();
  readonly #listeners = new Set<() => void>();
  readonly #objectErrors = new Set<(key: string, status: Status) => void>();
  #keys: string[] = [];
  #status: CollectionStatus = { state: "connecting" };
  #progress: CollectionProgress = { resourceVersion: "", lastProgress: 0, objects: 0, loaded: 0, total: 0 };
  #rv = 1000;
  #live = false;
  #notified = false;
  #markSynced = () => {};
  #timers: ReturnType<typeof setInterval>[] = [];
  readonly synced = new Promise<void>((resolve) => { this.#markSynced = resolve; });
  readonly restored = Promise.resolve();

  constructor(schema: Schema, items: Item[]) {
    this.#schema = schema;
    for (const item of items) this.#items.set(item.row.key, item);
    this.#sortKeys();
    setInterval(() => { if (this.#status.state === "live") this.setStatus({ lastProgress: Date.now() }); }, 1000);
  }

  snapshot(): never {
    throw new Error("the page keeps no state");
  }

  waitFor(): never {
    throw new Error("the page writes nothing that it would wait for");
  }

  get status(): CollectionStatus { return this.#status; }
  get progress(): CollectionProgress { return this.#progress; }
  get schema(): Schema | undefined { return this.#live ? this.#schema : undefined; }
  get size(): number { return this.#items.size; }
  get keys(): readonly string[] { return this.#keys; }

  item(key: string): Item { return this.#items.get(key)!; }
  get shape(): Schema { return this.#schema; }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  readonly subscribeProgress = this.subscribe;

  onObjectError(listener: (key: string, status: Status) => void): () => void {
    this.#objectErrors.add(listener);
    return () => this.#objectErrors.delete(listener);
  }

  setStatus({ lastProgress, loaded, total, ...part }: Partial<CollectionStatus & CollectionProgress>): void {
    this.#status = Object.freeze({ ...this.#status, ...part });
    this.#progress = Object.freeze({
      resourceVersion: String(this.#rv),
      objects: this.size,
      lastProgress: lastProgress ?? this.#progress.lastProgress,
      loaded: loaded ?? this.#progress.loaded,
      total: total ?? this.#progress.total,
    });
    for (const listener of this.#listeners) listener();
  }

  setState(state: State, error?: Status): void { this.setStatus({ state, error }); }

  goLive(): void {
    this.#live = true;
    this.#markSynced();
    this.setStatus({ state: "live", lastProgress: Date.now(), nextAttempt: undefined, error: undefined });
    this.#changed();
  }

  failObject(key: string, message: string): void {
    for (const listener of this.#objectErrors) listener(key, { code: 500, reason: "InternalError", message });
  }

  /** Changes one pod: its restarts, and sometimes its phase. */
  touch(key: string, phase?: string): void {
    const item = this.item(key);
    const columns = [...item.row.columns] as Cell[];
    columns[1] = Number(columns[1]) + 1;
    if (phase) columns[0] = phase;
    const fields = item.row.fields.map((value, i) => (this.#schema.fields[i] === "status.phase" && phase ? phase : value));
    this.put({ row: { ...item.row, columns, fields }, note: `touched at ${this.#rv}` });
  }

  put(item: Item): void {
    const row = Object.freeze({ ...item.row, resourceVersion: String(++this.#rv) });
    const isNew = !this.#items.has(row.key);
    this.#items.set(row.key, { ...item, row });
    if (isNew) this.#sortKeys();
    this.#changed();
  }

  delete(key: string): void {
    this.#rv++;
    this.#items.delete(key);
    this.#sortKeys();
    this.#changed();
  }

  /** Makes this many changes per second, spread over time. */
  churn(perSecond: number, seed = 1): void {
    for (const timer of this.#timers.splice(0)) clearInterval(timer);
    if (!perSecond) return;
    const next = random(seed);
    const tick = 20;
    this.#timers.push(setInterval(() => {
      for (let i = 0; i < (perSecond * tick) / 1000; i++) {
        this.touch(this.#keys[Math.floor(next() * this.#keys.length)]!, next() < 0.1 ? "Running" : undefined);
      }
    }, tick));
  }

  view(options: ViewOptions = {}): View {
    const view = new FakeView(this, options, () => this.#views.delete(view));
    this.#views.add(view);
    return view;
  }

  async get(key: string): Promise<KubeObject> {
    const item = this.#items.get(key);
    if (!item) throw new Refused(`${key} not found`);
    return objectOf(item, this.#schema);
  }

  async list(): Promise<ListResult> {
    const items = this.#keys.map((key) => objectOf(this.item(key), this.#schema));
    return { items, resourceVersion: String(this.#rv), continue: "" };
  }

  watch(): Watch {
    return { end: undefined, async *[Symbol.asyncIterator](): AsyncGenerator<WatchEvent> {} };
  }

  /** The page may return to a resource that it closed. */
  reopen(): void { this.#listeners.clear(); }
  close(): void {}
  [Symbol.dispose](): void {}

  #sortKeys(): void { this.#keys = [...this.#items.keys()].sort(); }

  #changed(): void {
    if (this.#notified) return;
    this.#notified = true;
    requestAnimationFrame(() => {
      this.#notified = false;
      if (this.#status.state === "live") for (const view of this.#views) view.update();
    });
  }
}

const EMPTY: ViewSnapshot = Object.freeze({ rows: [], total: 0, offset: 0, facets: {}, resourceVersion: "0" });

class FakeView implements View {
  readonly #collection: FakeCollection;
  readonly #listeners = new Set<() => void>();
  readonly #onClose: () => void;
  #options: ViewOptions = {};
  #accepts: (row: Row) => boolean = () => true;
  snapshot = EMPTY;
  readonly state = "ready";
  readonly error = undefined;
  ready: Promise<void>;

  constructor(collection: FakeCollection, options: ViewOptions, onClose: () => void) {
    this.#collection = collection;
    this.#onClose = onClose;
    this.ready = this.query(options);
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  async query(options: ViewOptions): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, 2)); // the latency of a worker
    const labels = parseLabels(options.labelSelector ?? "");
    const fields = parseFields(options.fieldSelector ?? "", this.#collection.shape.fields);
    const { namespace } = options;
    this.#accepts = (row) => (!namespace || row.namespace === namespace) && labels(row.labels) && fields(row.fields);
    this.#options = options;
    this.update();
  }

  move(offset: number, limit: number): void {
    this.#options = { ...this.#options, offset, limit };
    setTimeout(() => this.update(), 2);
  }

  close(): void { this.#onClose(); }
  [Symbol.dispose](): void { this.close(); }

  update(): void {
    const { offset = 0, limit = 100, facets = [] } = this.#options;
    const matching = this.#matching();
    this.snapshot = Object.freeze({
      rows: Object.freeze(matching.slice(offset, offset + limit)),
      total: matching.length,
      offset: Math.min(offset, matching.length),
      facets: Object.fromEntries(facets.map((facet) => (typeof facet === "string" ? facet : facet.by)).map((by) => [by, { values: this.#count(matching, by), otherValues: 0, otherRows: 0 }])),
      resourceVersion: this.#collection.progress.resourceVersion,
    });
    for (const listener of this.#listeners) listener();
  }

  #matching(): Row[] {
    const rows = this.#collection.keys.map((key) => this.#collection.item(key).row).filter(this.#accepts);
    const sort = String(this.#options.sort ?? ""); // the page sorts by one key
    if (!sort) return rows;
    const value = this.#value(sort.replace(/^-/, ""));
    const sign = sort.startsWith("-") ? -1 : 1;
    return rows.sort((a, b) => sign * compare(value(a), value(b)));
  }

  #count(rows: Row[], by: string): [string, number][] {
    const counts = new Map<string, number>();
    const value = this.#value(by);
    for (const row of rows) counts.set(String(value(row)), (counts.get(String(value(row))) ?? 0) + 1);
    return [...counts].sort(([a], [b]) => (a < b ? -1 : 1));
  }

  #value(name: string): (row: Row) => Cell {
    const { fields, columns } = this.#collection.shape;
    if (name === "name" || name === "namespace") return (row) => row[name];
    const field = fields.indexOf(name);
    if (field >= 0) return (row) => row.fields[field]!;
    const column = columns.findIndex((c) => c.name === name);
    if (column < 0) throw new Refused(`unknown column ${JSON.stringify(name)}`);
    return (row) => row.columns[column]!;
  }
}

function compare(a: Cell, b: Cell): number {
  if (a === b) return 0;
  return (a ?? "") < (b ?? "") ? -1 : 1;
}

/** The response of a server to an unknown resource. */
class UnknownCollection extends FakeCollection {
  constructor(resource: string) {
    super({ ...NODES, resource }, []);
    setTimeout(() => this.setState("closed", {
      code: 404, reason: "NotFound", message: `resource ${resource} is not served here; there are: v1/nodes, v1/pods`,
    }));
  }
}
