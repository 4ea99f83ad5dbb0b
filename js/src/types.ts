/// <reference lib="esnext.disposable" preserve="true" />
/** The public types of watchglass. They hold no code; the entries for readers re-export them. */

/** A resource version: an unsigned 64-bit integer as a decimal string. */
export type ResourceVersion = string;

/** How current a collection is. The data that is there stays visible in every state. */
export type State = "connecting" | "syncing" | "live" | "reconnecting" | "stale" | "forbidden" | "closed";

/** An error in Kubernetes' words. */
export interface Status {
  code: number;
  reason: string;
  message: string;
  cause?: string;
  retryAfterSeconds?: number;
  /** On a 410 for a continue token: goes on from the same place at the latest state. */
  continue?: string;
}

/** Metadata that every Kubernetes object has. */
export interface ObjectMeta {
  name: string;
  namespace?: string;
  uid: string;
  resourceVersion: ResourceVersion;
  labels?: Record<string, string>;
  [member: string]: unknown;
}

/** Any Kubernetes object. Where there is a type parameter it stands for a type of the program's own, such as V1Pod. */
export interface KubeObject {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  [member: string]: unknown;
}

/** A cell of a table: a date is milliseconds since the epoch. */
export type Cell = string | number | boolean | null;

export interface Column {
  name: string;
  kind: "null" | "bool" | "integer" | "number" | "date" | "string";
  path: string;
  priority: number;
}

/** What a collection's objects look like to tables and selectors. */
export interface Schema {
  group: string;
  version: string;
  resource: string;
  kind: string;
  namespaced: boolean;
  fields: string[];
  columns: Column[];
}

/** One row of a view. Frozen, and the same object for as long as the row is unchanged. */
export interface Row {
  /** "namespace/name", or "name" for a cluster-scoped object. */
  key: string;
  namespace: string;
  name: string;
  uid: string;
  resourceVersion: ResourceVersion;
  labels: Readonly<Record<string, string>>;
  /** In the order of {@link Schema.fields}. */
  fields: readonly string[];
  /** In the order of {@link Schema.columns}. */
  columns: readonly Cell[];
}

/** The window of a view at one moment. Frozen; a new one for every change. */
export interface ViewSnapshot {
  rows: readonly Row[];
  /** Rows that match, in the window or not. */
  total: number;
  /** Position of the first row of the window. */
  offset: number;
  /** Rows by value of `countBy`, sorted by value. */
  counts: ReadonlyArray<readonly [value: string, rows: number]>;
  /** Of the newest change here. What changed since did so outside of the window; the collection's status has its version. */
  resourceVersion: ResourceVersion;
}

/** How current a collection is. Frozen, and the same object until one of its members changes. */
export interface CollectionStatus {
  state: State;
  /** When the next attempt to become current comes, in milliseconds since the epoch; nothing while none is waited for. {@link Watchglass.reconnect} makes it now. */
  nextAttempt?: number;
  /** Why, where the state has a reason. */
  error?: Status;
}

/** How far a collection is. Frozen; a new object for every change, which may be many times a second. */
export interface CollectionProgress {
  resourceVersion: ResourceVersion;
  /** When the connector last confirmed that nothing is missing, in milliseconds since the epoch; 0 for never. */
  lastProgress: number;
  objects: number;
  /** While syncing: objects loaded so far and roughly expected. */
  loaded: number;
  total: number;
}

export interface Selectors {
  namespace?: string;
  labelSelector?: string;
  fieldSelector?: string;
}

export interface CollectionOptions extends Selectors {
  /** Leave bodies out: rows and metadata only. */
  metadataOnly?: boolean;
  /**
   * The columns of the objects, where Kubernetes is read without a connector,
   * which has its own: what each is called, what its cells are, and the JSONPath
   * where they are found. Default: those of a well-known resource, else the age.
   */
  columns?: readonly (Pick<Column, "name" | "kind" | "path"> & { priority?: number })[];
  /**
   * The chunks that were kept of {@link Collection.snapshot}: those of a whole
   * state, then those of the changes after it. The collection has that state at
   * once, says since when it is not current, and resumes from there. See
   * {@link Collection.restored}.
   */
  restore?: Iterable<Uint8Array>;
}

/** How far the state leads that a program keeps. */
export interface Position {
  resourceVersion: ResourceVersion;
  /** Names the history that the version belongs to, such as an etcd cluster. */
  source: string;
}

export interface SnapshotOptions {
  /** How far the state leads that was kept before; the snapshot then has the changes after it, if it can. */
  since?: Position | undefined;
  /** About how large a chunk is, at most 1 MiB; default 256 KiB. An object is never split. */
  chunkBytes?: number;
}

/** A piece of a snapshot. */
export interface SnapshotChunk {
  /** What to keep, and to hand back as {@link CollectionOptions.restore}. It has a checksum, and knows what it is of and which chunk comes before it. */
  data: Uint8Array;
  /** True: the snapshot takes the place of all that was kept before. False: it has the changes since, and goes behind it. */
  whole: boolean;
  /** The snapshot is complete. Before that it is of no use. */
  last: boolean;
  /** How far it leads, in the last chunk. */
  position: Position | undefined;
}

export interface WatchOptions extends Selectors {
  resourceVersion?: ResourceVersion;
  resourceVersionMatch?: "NotOlderThan" | "Exact";
  sendInitialEvents?: boolean;
  allowWatchBookmarks?: boolean;
  timeoutSeconds?: number;
  /**
   * What happens when the loop over the events is slow.
   * - `"stall"` (default): the watch pauses and continues where it was. If the history has moved past it by then, it ends with a 410. See {@link ConnectOptions.maxHistory}.
   * - `"conflate"`: the watch skips to the newest state of each object.
   * - `"terminate"`: the watch ends with a 410 when its queue is full, as in Kubernetes.
   */
  policy?: "stall" | "terminate" | "conflate";
  /** Events taken from the engine before the consumer has seen them. Default 1000. */
  credit?: number;
  signal?: AbortSignal;
}

/** What Kubernetes sends as an ERROR event is thrown as a {@link WatchglassError}. */
export type WatchEvent<T extends object = KubeObject> =
  | { type: "ADDED" | "MODIFIED" | "DELETED"; object: T; finalStateUnknown?: boolean }
  | { type: "BOOKMARK"; resourceVersion: ResourceVersion; initialEventsEnd: boolean };

/**
 * Why a watch ended. The loop over its events ends for the first two and throws
 * for the others, a {@link WatchglassError} whose `status.cause` is the reason
 * unless the status has a cause of its own.
 * - `Closed`: by the program: it left the loop, or its signal was aborted, which throws the signal's reason.
 * - `Timeout`: `timeoutSeconds` have passed.
 * - `CollectionClosed`: the collection or the connection was closed.
 * - `EngineReplaced`: the engine failed, and the watch cannot continue in the new one. 410.
 * - `Refused`: the watch could not start: 410 for a resource version that is too old, 504 for one that did not come, 400 for options that make no sense.
 * - `SlowConsumer`: the queue of a watch with the policy `"terminate"` was full. 410.
 * - `Overtaken`: the history moved past the watch while it stalled. 410.
 * - `HistoryLost`: the source lost the history that the resource version belongs to, or is another one. 410.
 * - `Corrupt`: what was restored of the collection is corrupt. 410.
 */
export type WatchEnd = "Closed" | "Timeout" | "CollectionClosed" | "EngineReplaced" | "Refused" | "SlowConsumer" | "Overtaken" | "HistoryLost" | "Corrupt";

/** A watch, which begins with each loop over its events. */
export interface Watch<T extends object = KubeObject> extends AsyncIterable<WatchEvent<T>> {
  /** Why the last loop ended. Undefined before that. */
  readonly end: WatchEnd | undefined;
}

export interface ViewOptions extends Selectors {
  /** A column, "name" or "namespace"; "-" in front reverses. Default: by key. */
  sort?: string;
  /** Default 0. */
  offset?: number;
  /** Default 100. */
  limit?: number;
  /** A field or column to count rows by. */
  countBy?: string;
}

export interface ListOptions extends Selectors {
  resourceVersion?: ResourceVersion;
  resourceVersionMatch?: "NotOlderThan" | "Exact";
  limit?: number;
  continue?: string;
}

export interface ListResult<T extends object = KubeObject> {
  items: T[];
  resourceVersion: ResourceVersion;
  continue: string;
  remainingItemCount?: number;
}

/**
 * What a view shows:
 *
 * - `loading`: {@link View.snapshot} is not of the current query yet. It is empty, or of the query before.
 * - `ready`: the snapshot is of the current query. A snapshot without rows means that no object matches.
 * - `error`: the query was refused, see {@link View.error}. The last snapshot stays. After a 400, 404 or 422 the view
 *   waits for another {@link View.query}; after any other error it sends the query again when the collection recovers.
 * - `closed`: the view or its collection was closed.
 */
export type ViewState = "loading" | "ready" | "error" | "closed";

/** A live window over a collection. It survives everything that its collection survives. */
export interface View {
  readonly state: ViewState;
  /** Why the newest query was refused or the view ended; undefined once a query is accepted. */
  readonly error: Status | undefined;
  readonly snapshot: ViewSnapshot;
  /** Calls a listener after every change of {@link snapshot}, {@link state} or {@link error}, at most once per animation frame. Returns a function that unsubscribes. Bound to the view. */
  readonly subscribe: (listener: () => void) => () => void;
  /** Moves the window. */
  move(offset: number, limit: number): void;
  /** Replaces the query; rows of the old one stay until the new ones are there. Rejects with a {@link WatchglassError} when a selector or column is wrong, and the old query stays. */
  query(options: ViewOptions): Promise<void>;
  /** Resolves with the first snapshot of the current query; rejects when the query was refused. */
  readonly ready: Promise<void>;
  close(): void;
  [Symbol.dispose](): void;
}

/** A resource, or part of one, kept present. */
export interface Collection<T extends object = KubeObject> {
  readonly status: CollectionStatus;
  readonly progress: CollectionProgress;
  /** Known once the collection has been in sync; undefined before. */
  readonly schema: Schema | undefined;
  /** Calls a listener after every change of {@link status} or {@link schema}, at most once per animation frame. Returns a function that unsubscribes. Bound to the collection. */
  readonly subscribe: (listener: () => void) => () => void;
  /** The same for {@link progress}. */
  readonly subscribeProgress: (listener: () => void) => () => void;
  /** Objects whose newest version could not be read; see the error's message. */
  onObjectError(listener: (key: string, status: Status) => void): () => void;
  /** Resolves when the collection is live for the first time. */
  readonly synced: Promise<void>;
  /**
   * Resolves when the state given as {@link CollectionOptions.restore} is there,
   * at once if none was given. Rejects when it is damaged, incomplete, of another
   * scope or of another release: nothing of it is there then, and the collection
   * goes on without.
   */
  readonly restored: Promise<void>;
  /**
   * Reads the state in chunks, for keeping it: all of it, or what changed since
   * it was kept last. The collection goes on changing meanwhile; the chunks
   * together are its state as of the position of the last one.
   *
   * Throws a 503 when the collection has no state yet, and a 410 when it was
   * listed anew meanwhile or changes faster than it is read: take it again.
   */
  snapshot(options?: SnapshotOptions): AsyncIterable<SnapshotChunk>;
  watch(options?: WatchOptions): Watch<T>;
  view(options?: ViewOptions): View;
  get(key: string): Promise<T>;
  list(options?: ListOptions): Promise<ListResult<T>>;
  /**
   * Resolves when everything up to a version is here, such as that of an object
   * which the program has just written. Rejects when the collection is closed, and with
   * the reason of the signal when that is aborted.
   */
  waitFor(resourceVersion: ResourceVersion, options?: { signal?: AbortSignal }): Promise<void>;
  close(): void;
  [Symbol.dispose](): void;
}

export interface ObjectOptions {
  /** Who refers to the object, for {@link Watchglass.inspect}. Default: nobody in particular. */
  owner?: string;
}

/**
 * A reference to one object, which is kept present for as long as there is one.
 * A collection that is open anyway serves it; otherwise it has a watch of its
 * own.
 *
 * Close it when done, or declare it with `using`. A handle that is forgotten is
 * closed when it is collected, which may be late or never; one that somebody
 * listens to or waits for is not forgotten.
 */
export interface ObjectHandle<T extends object = KubeObject> {
  /**
   * The newest version known, frozen, and the same object for as long as it is
   * unchanged. Undefined when there is no object, or nothing is known yet.
   */
  readonly current: T | undefined;
  /** Whether there is such an object. Undefined before that is known. */
  readonly exists: boolean | undefined;
  /** How current the rest is; what was known stays visible in every state. */
  readonly state: State;
  /** Why, where the state has a reason. */
  readonly error: Status | undefined;
  /** Resolves when it is known for the first time whether there is such an object. */
  readonly ready: Promise<void>;
  /** Calls a listener after every change of the above, at most once per animation frame. Returns a function that unsubscribes. Bound to the handle. */
  readonly subscribe: (listener: () => void) => () => void;
  /** The object as it is now, the caller's own. Waits up to a second; rejects with a 404 when there is none. */
  get(): Promise<T>;
  close(): void;
  [Symbol.dispose](): void;
}

export interface ConnectOptions {
  /** A bearer token, or how to get a fresh one for each connection. Never part of the URL. */
  token?: string | (() => string | Promise<string>);
  /** Where the module is: a URL, bytes, or a compiled module. Default: beside the package. A compiled module cannot be shared: the engine is then dedicated. */
  wasm?: URL | string | BufferSource | WebAssembly.Module;
  /** Where the engine runs: "shared" (SharedWorker, falls back to "dedicated"), "dedicated" (Worker), or "inline" (this thread; what Node uses). */
  worker?: "shared" | "dedicated" | "inline";
  /** Where the worker script is. Default: beside the package. */
  workerURL?: URL | string;
  /** Bytes of memory for objects. Default 512 MiB. Of pages that share an engine, the first decides. */
  maxBytes?: number;
  /** Changes of each collection that are kept for watches that stall or resume. Default 1024. Of pages that share an engine, the first decides. */
  maxHistory?: number;
  /**
   * Who the user is. Pages share an engine, and with it what its token may read,
   * when URL and identity are equal. Default: the token if it is a string; the
   * issuer and subject if a token function returns JWTs; unique to this page if
   * it returns anything else; common to all pages that pass no token.
   */
  identity?: string;
  /** The URL is that of a Kubernetes API, which is read without a connector: `connectKubernetes` says more. */
  kubernetes?: boolean;
  /** For an inline engine: the function to read Kubernetes with, such as one that knows the cluster's certificate, and outside of browsers to ask why a WebSocket is refused. Default: the platform's. */
  fetch?: typeof globalThis.fetch;
  /** For an inline engine where the platform has no WebSocket of its own. Default: that of the package `ws`. */
  WebSocket?: new (url: string, protocols: string[]) => WebSocket;
}

/** A connection to one connector, shared by everything opened on it. */
export interface Watchglass {
  collection<T extends object = KubeObject>(resource: string, options?: CollectionOptions): Collection<T>;
  /** Takes a reference to one object: `wg.object("v1/configmaps", "ns/name")`. */
  object<T extends object = KubeObject>(resource: string, key: string, options?: ObjectOptions): ObjectHandle<T>;
  /** What the engine holds: named numbers such as "collection.1.objects". */
  inspect(): Promise<Record<string, number>>;
  /** Makes the next attempt now, of whatever waits for one. */
  reconnect(): void;
  close(): void;
  [Symbol.dispose](): void;
}
