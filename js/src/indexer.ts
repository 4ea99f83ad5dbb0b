// The entry `watchglass/indexer`, which looks up the rows of a collection by their values.
import { Deferred } from "./deferred.js";
import type { OpenCollection } from "./engine-client.js";
import { badRequest, closedError, type WatchglassError } from "./errors.js";
import { Listeners, offNextFrame, onNextFrame, report } from "./listeners.js";
import { sameRow } from "./object.js";
import { RowWatch } from "./row-watch.js";
import type { CallOptions, Collection, Row, Schema, Selectors, Status, ViewState } from "./types.js";

/**
 * Determines the values under which an index lists a row: a name or a function.
 *
 * The name is a column, a field or a label as in queries, such as `"Restarts"`,
 * `"spec.nodeName"`, `"labels[app]"`, `"owner"` or `"namespace"`. Values are strings as
 * in `Group.values`: "" if the row has no value, and milliseconds for times.
 *
 * A function returns one value, several, or undefined for none. It must return the same values for
 * the same row. If it throws, the error is reported as uncaught, and the index omits the row.
 */
export type IndexBy = string | ((row: Row) => string | readonly string[] | undefined);

/** Options of an indexer: the selectors of its rows, and a signal that closes it. */
export interface IndexerOptions extends Selectors, CallOptions {}

/** Live secondary indexes of the rows of a collection, like `cache.Indexer` of client-go. */
export interface Indexer<Name extends string = string> {
  /**
   * The state is `loading` until the rows are complete, and then `ready`. If the collection refuses
   * the rows, the state is `error`, {@link error} has the reason, and the indexer keeps the last
   * rows. A 400 is permanent. After any other error, the indexer continues when the collection
   * recovers. The status of the collection reports how current the rows are.
   */
  readonly state: ViewState;
  /** Why the rows were refused, or why the indexer was closed. */
  readonly error: Status | undefined;
  /**
   * Resolves when the rows are complete. Rejects if they are refused, or if the indexer is closed
   * before they are complete.
   */
  readonly ready: Promise<void>;
  /** The number of rows. */
  readonly size: number;
  /** Returns the row of an object by its key: "namespace/name", or "name" for a cluster-scoped object. */
  get(key: string): Row | undefined;
  /**
   * Returns the rows that an index lists under a value, sorted by key. The array is frozen, and
   * remains the same until one of its rows changes.
   */
  byIndex(index: Name, value: string): readonly Row[];
  /** Returns the values of an index, in no particular order. */
  indexValues(index: Name): string[];
  /**
   * Calls a listener after every change of the rows, of {@link state} or of {@link error}, at most
   * once per animation frame. Returns a function that unsubscribes. `subscribe` does not use
   * `this`, so it can be passed on its own.
   */
  readonly subscribe: (listener: () => void) => () => void;
  /** Like {@link subscribe}, for changes to the rows that an index lists under a value. */
  readonly subscribeIndex: (index: Name, value: string, listener: () => void) => () => void;
  /** Closes the indexer, which keeps its last rows. The collection remains open. */
  close(): void;
  [Symbol.dispose](): void;
}

/**
 * Opens live indexes of the rows of a collection, for pages that look up many values, such as
 * the pods of every node:
 *
 *     const indexer = createIndexer(pods, { node: "spec.nodeName", app: "labels[app]" });
 *     await indexer.ready;
 *     indexer.byIndex("node", "node-1");
 *
 * The indexer holds all matching rows in the page, without bodies. It survives reconnects and
 * replacements of the engine, as the collection does. Throws a 400 for invalid arguments. A name
 * that does not exist is detected later, when the schema of the collection arrives, and sets
 * {@link Indexer.error} to a 400.
 */
export function createIndexer<Name extends string>(collection: Collection<any>, indexers: Readonly<Record<Name, IndexBy>>, options: IndexerOptions = {}): Indexer<Name> {
  return new RowIndexer(collection, indexers, options);
}

const noRows: readonly Row[] = Object.freeze([]);

/** The rows that an index lists under one value. A bucket exists while it has rows or listeners. */
class Bucket {
  readonly rows = new Map<string, Row>();
  readonly listeners = new Listeners();
  #sorted = noRows;
  #changed = false;

  change(): void {
    this.#changed = true;
  }

  get sorted(): readonly Row[] {
    if (!this.#changed) return this.#sorted;
    this.#changed = false;
    const rows = [...this.rows.values()].sort((a, b) => (a.key < b.key ? -1 : 1));
    if (rows.length === this.#sorted.length && rows.every((row, i) => row === this.#sorted[i])) return this.#sorted;
    return (this.#sorted = rows.length > 0 ? Object.freeze(rows) : noRows);
  }
}

type ValuesOf = (row: Row) => readonly string[];

/** An index with its buckets. */
class Index {
  readonly by: IndexBy;
  readonly buckets = new Map<string, Bucket>();
  /** Returns the values of a row; no values until the schema is known. */
  valuesOf: ValuesOf = () => [];

  constructor(by: IndexBy) {
    this.by = by;
  }

  bucket(value: string): Bucket {
    let bucket = this.buckets.get(value);
    if (!bucket) this.buckets.set(value, (bucket = new Bucket()));
    return bucket;
  }

  /** Drops the bucket of a value if it has neither rows nor listeners. */
  drop(value: string): void {
    const bucket = this.buckets.get(value);
    if (bucket && bucket.rows.size === 0 && bucket.listeners.empty) this.buckets.delete(value);
  }
}

class RowIndexer<Name extends string> implements Indexer<Name> {
  readonly #indexes = new Map<string, Index>();
  readonly #rows = new Map<string, Row>();
  readonly #listeners = new Listeners();
  /** The buckets that have listeners and whose rows have changed since the last frame. */
  readonly #changed = new Set<Bucket>();
  readonly #watch: RowWatch;
  readonly #signal: AbortSignal | undefined;
  readonly #abort = (): void => this.#end(this.#signal!.reason);
  readonly #notify = (): void => {
    const changed = [...this.#changed];
    this.#changed.clear();
    for (const { listeners } of changed) listeners.call();
    this.#listeners.call();
  };
  #settled = new Deferred();
  /** The schema with which the names were resolved, as JSON. */
  #schema = "";
  #complete = false;
  #error: WatchglassError | undefined;
  #ended = false;

  constructor(collection: Collection, indexers: Readonly<Record<Name, IndexBy>>, { signal, ...selectors }: IndexerOptions) {
    signal?.throwIfAborted();
    if (!("adopt" in collection)) throw badRequest("this is not a collection that this package has opened");
    for (const [name, by] of Object.entries<IndexBy>(indexers)) {
      if (typeof by !== "string" && typeof by !== "function") throw badRequest(`index ${name} is ${JSON.stringify(by)}, expected a name or a function`);
      this.#indexes.set(name, new Index(by));
    }
    this.#watch = new RowWatch(collection as Collection & OpenCollection, selectors, {
      replaced: (rows, schema) => this.#replace(rows, schema),
      put: (row) => this.#put(row),
      deleted: (key) => this.#delete(key),
      refused: (error) => this.#refuse(error),
      closed: (error) => this.#end(error),
    });
    this.#signal = signal;
    signal?.addEventListener("abort", this.#abort);
  }

  get state(): ViewState {
    if (this.#ended) return "closed";
    if (this.#error) return "error";
    return this.#complete ? "ready" : "loading";
  }

  get error(): Status | undefined {
    return this.#error?.status;
  }

  get ready(): Promise<void> {
    return this.#settled.promise;
  }

  get size(): number {
    return this.#rows.size;
  }

  get(key: string): Row | undefined {
    return this.#rows.get(key);
  }

  byIndex(name: Name, value: string): readonly Row[] {
    return this.#index(name).buckets.get(value)?.sorted ?? noRows;
  }

  indexValues(name: Name): string[] {
    return [...this.#index(name).buckets].filter(([, { rows }]) => rows.size > 0).map(([value]) => value);
  }

  readonly subscribe = (listener: () => void): (() => void) => this.#listeners.add(listener);

  readonly subscribeIndex = (name: Name, value: string, listener: () => void): (() => void) => {
    const index = this.#index(name);
    const stop = index.bucket(value).listeners.add(listener);
    return () => {
      stop();
      index.drop(value);
    };
  };

  close(): void {
    this.#end(closedError("the indexer"));
  }

  [Symbol.dispose](): void {
    this.close();
  }

  #index(name: string): Index {
    const index = this.#indexes.get(name);
    if (!index) throw badRequest(`there is no index ${JSON.stringify(name)}; there are ${[...this.#indexes.keys()].join(", ")}`);
    return index;
  }

  #replace(rows: ReadonlyMap<string, Row>, schema: Schema): void {
    try {
      this.#describe(schema);
    } catch (error) {
      this.#watch.close();
      return this.#refuse(error as WatchglassError);
    }
    for (const key of [...this.#rows.keys()]) if (!rows.has(key)) this.#delete(key);
    for (const row of rows.values()) {
      const old = this.#rows.get(row.key);
      if (!old || !sameRow(old, row)) this.#put(row);
    }
    this.#complete = true;
    if (this.#error) {
      this.#error = undefined;
      this.#settled = new Deferred();
    }
    this.#settled.resolve();
    onNextFrame(this.#notify);
  }

  /**
   * Resolves the names of the indexes with a schema. If the schema has changed, drops the rows,
   * because their values may differ. Throws a 400 for a name that the schema does not contain.
   */
  #describe(schema: Schema): void {
    const text = JSON.stringify(schema);
    if (text === this.#schema) return;
    const found = [...this.#indexes.values()].map(({ by }) => valuesBy(by, schema));
    for (const key of [...this.#rows.keys()]) this.#delete(key);
    [...this.#indexes.values()].forEach((index, i) => (index.valuesOf = found[i]!));
    this.#schema = text;
  }

  #put(row: Row): void {
    this.#delete(row.key);
    this.#rows.set(row.key, row);
    for (const index of this.#indexes.values()) {
      for (const value of index.valuesOf(row)) {
        const bucket = index.bucket(value);
        bucket.rows.set(row.key, row);
        this.#change(bucket);
      }
    }
  }

  #delete(key: string): void {
    onNextFrame(this.#notify);
    const row = this.#rows.get(key);
    if (!row) return;
    this.#rows.delete(key);
    for (const index of this.#indexes.values()) {
      for (const value of index.valuesOf(row)) {
        const bucket = index.bucket(value);
        bucket.rows.delete(key);
        this.#change(bucket);
        index.drop(value);
      }
    }
  }

  #change(bucket: Bucket): void {
    bucket.change();
    if (!bucket.listeners.empty) this.#changed.add(bucket);
  }

  #refuse(error: WatchglassError): void {
    this.#error = error;
    this.#settled.reject(error);
    onNextFrame(this.#notify);
  }

  #end(error: WatchglassError): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#error = error;
    this.#signal?.removeEventListener("abort", this.#abort);
    this.#watch.close();
    this.#settled.reject(error);
    offNextFrame(this.#notify);
    this.#notify();
    this.#listeners.clear();
    for (const { buckets } of this.#indexes.values()) for (const { listeners } of buckets.values()) listeners.clear();
  }
}

/**
 * Returns the function that determines the values of a row. Throws a 400 if `by` is a name that the
 * schema does not contain.
 */
function valuesBy(by: IndexBy, schema: Schema): ValuesOf {
  if (typeof by === "string") {
    const cell = cellBy(by, schema);
    return (row) => [String(cell(row) ?? "")];
  }
  return (row) => {
    try {
      const values = by(row) ?? [];
      return typeof values === "string" ? [values] : values;
    } catch (error) {
      report(error);
      return [];
    }
  };
}

/**
 * Returns the function that reads a named value of a row. It resolves the name as core/query does.
 */
function cellBy(name: string, { group, version, resource, columns, fields }: Schema): (row: Row) => unknown {
  const folded = name.toLowerCase();
  if (folded === "name" || folded === "namespace") return (row) => row[folded];
  const [, map, key] = /^(?:metadata\.)?(labels|annotations)\[(.+)\]$/.exec(name) ?? [];
  if (map === "labels") return ({ labels }) => (Object.hasOwn(labels, key!) ? labels[key!] : "");
  const column = columns.findIndex(({ name, path }) => (map ? annotationOf(path) === key : name.toLowerCase() === folded));
  if (column >= 0) return (row) => row.columns[column];
  const field = fields.indexOf(name);
  if (field >= 0) return (row) => row.fields[field];
  if (folded === "owner" || folded === "uid") return (row) => row[folded];
  const known = [...columns.map(({ name }) => name), ...fields].join(", ");
  throw badRequest(`cannot index ${group && `${group}/`}${version}/${resource} by ${JSON.stringify(name)}: there is no such column or field; there are ${known}`);
}

/** Returns the key of the annotation that a JSONPath selects, or undefined for other paths. */
function annotationOf(path: string): string | undefined {
  const [, dotted, , quoted] = /^\.metadata\.annotations(?:\.((?:\\.|[^.\\])+)|\[(['"])(.+)\2\])$/.exec(path) ?? [];
  return quoted ?? dotted?.replace(/\\(.)/g, "$1");
}
