/// <reference lib="esnext.disposable" preserve="true" />
/**
 * The public types of watchglass. The file contains no code. The entries for readers
 * re-export them.
 */
import type { CallOptions, Column, KubeObject, ResourceVersion, Schema, Selectors, State, Status } from "./types/objects.js";
import type { View, ViewOptions } from "./types/views.js";

export type * from "./types/objects.js";
export type * from "./types/views.js";

/** How current a collection is. Frozen. It is the same object until a property changes. */
export interface CollectionStatus {
  /** While the resource does not exist, the state is `connecting` and {@link error} is a 404. */
  state: State;
  /**
   * The time of the next reconnect attempt, in milliseconds since the epoch; undefined if
   * none is scheduled. {@link Watchglass.reconnect} makes the attempt immediately.
   */
  nextAttempt?: number;
  /** The reason for the state, if it has one. */
  error?: Status;
}

/**
 * The progress of a collection. Frozen. Every change creates a new object, possibly many
 * times a second.
 */
export interface CollectionProgress {
  resourceVersion: ResourceVersion;
  /**
   * When the connector last confirmed that the data is complete, in milliseconds since
   * the epoch; 0 for never.
   */
  lastProgress: number;
  objects: number;
  /** The number of objects loaded, and an estimate of the total, while syncing. */
  loaded: number;
  total: number;
  /**
   * The number of objects whose body has arrived; 0 without bodies. It is less than
   * {@link objects} only after {@link CollectionOptions.rowsFirst}.
   */
  bodies: number;
}

export interface CollectionOptions extends Selectors {
  /** Load rows and metadata only, without bodies. */
  metadataOnly?: boolean;
  /**
   * Load all rows before the bodies. Views, sorting and counts are complete as soon as the rows
   * are. {@link Collection.get} requests the body of its object before others. It rejects after
   * 10 s if the body does not arrive. Watches and lists with bodies start when all bodies have
   * arrived. If the memory limit is reached first, the collection continues without bodies, and
   * {@link CollectionStatus.error} has the reason.
   */
  rowsFirst?: boolean;
  /**
   * The columns of the objects, instead of those of well-known resources and definitions:
   * the name of each column, the kind of its cells, and their JSONPath. A connector computes
   * them from the bodies, also with {@link metadataOnly}. If it cannot, the collection closes
   * with the cause `ColumnsUnsupported`. A connector has no printers for chosen columns, and
   * cuts texts of more than 1024 bytes.
   *
   * Columns with the printer `join` do not replace the columns of the objects, but are added to
   * them. They show the column of the object with the same key in another resource, and `path`
   * names both: `"metrics.k8s.io/v1beta1/pods CPU"`. Only views have them. All joined columns must
   * be of one resource, which is opened with the rights of the user. While it cannot be read, cells
   * are null, the state is that of the objects, and {@link CollectionStatus.error} has the reason
   * and the cause `JoinUnavailable`.
   *
   * Columns with the printer `children` count the objects below a row. `path` has the resources
   * from the top to these objects, separated by commas. A column of kind `integer` shows the number
   * of objects: `"apps/v1/replicasets,v1/pods"` of a Deployment. If a space and the name of a
   * column of the objects follow, a column of kind `string` shows their number by value:
   * `"apps/v1/replicasets,v1/pods Status"` is `Running 3, Pending 1`. The resources are read like
   * those of joined columns.
   */
  columns?: readonly (Pick<Column, "name" | "kind" | "path"> & Partial<Column>)[];
  /**
   * Stored chunks of {@link Collection.snapshot}: those of a complete state, followed by
   * those of later changes. The collection starts with that state, reports how old it is,
   * and resumes from there. See {@link Collection.restored}.
   */
  restore?: Iterable<Uint8Array>;
}

/** The point in a history up to which a stored state is complete. */
export interface Position {
  resourceVersion: ResourceVersion;
  /** Identifies the history of the resource version, such as an etcd cluster. */
  clusterID: string;
}

export interface SnapshotOptions extends CallOptions {
  /**
   * The position of the stored state. The snapshot then contains the changes since that
   * position, if they are available.
   */
  since?: Position | undefined;
  /**
   * The approximate size of a chunk in bytes, at most 1 MiB. Default 256 KiB. Objects are
   * never split.
   */
  chunkBytes?: number;
}

/** One chunk of a snapshot. */
export interface SnapshotChunk {
  /**
   * The bytes to store, and to pass as {@link CollectionOptions.restore}. They contain a
   * checksum and identify the snapshot and the preceding chunk.
   */
  data: Uint8Array;
  /**
   * True if the snapshot replaces all stored chunks. False if it contains the changes since
   * {@link SnapshotOptions.since}, and must be appended.
   */
  whole: boolean;
  /** True for the last chunk. An incomplete snapshot is not usable. */
  last: boolean;
  /** The position of the state, in the last chunk. */
  position: Position | undefined;
}

export interface WatchOptions extends Selectors {
  resourceVersion?: ResourceVersion;
  resourceVersionMatch?: "NotOlderThan" | "Exact";
  sendInitialEvents?: boolean;
  allowWatchBookmarks?: boolean;
  timeoutSeconds?: number;
  /**
   * The behavior if the loop over the events is slow.
   * - `"stall"` (default): the watch pauses, and continues at the same event. If the history has evicted that event, it ends with a 410. See {@link ConnectOptions.maxHistory}.
   * - `"conflate"`: the watch skips to the latest state of each object.
   * - `"terminate"`: the watch ends with a 410 when its queue is full, as in Kubernetes.
   */
  policy?: "stall" | "terminate" | "conflate";
  /** The maximum number of undelivered events taken from the engine. Default 1000. */
  credit?: number;
  /**
   * Whether `MODIFIED` events have the object before the change. It is decoded when it is first
   * read. Default false.
   */
  previous?: boolean;
  signal?: AbortSignal;
}

/** An event of a watch. Kubernetes' ERROR events are thrown as a {@link WatchglassError}. */
export type WatchEvent<T extends object = KubeObject> =
  | {
      type: "ADDED" | "MODIFIED" | "DELETED";
      /** The object after the event. For `DELETED`, its last known state. */
      object: T;
      /**
       * For `MODIFIED` with {@link WatchOptions.previous}: the object before the change. With
       * the policy `"conflate"`, which skips states, it is the state that the watch delivered last.
       */
      previous?: T | undefined;
      finalStateUnknown?: boolean;
    }
  | { type: "BOOKMARK"; resourceVersion: ResourceVersion; initialEventsEnd: boolean };

/**
 * Why a watch ended. The loop over its events ends normally for the first two. For the
 * others it throws a {@link WatchglassError} whose `status.cause` is the reason, unless
 * the status has a more specific cause.
 * - `Closed`: the program left the loop, or aborted the signal, which throws the signal's reason.
 * - `Timeout`: `timeoutSeconds` have passed.
 * - `CollectionClosed`: the collection or the connection was closed.
 * - `EngineReplaced`: the engine failed, and the watch cannot continue in the new one. 410.
 * - `Refused`: the watch could not start. The code is 410 for a resource version that is too old, 504 for one that did
 *   not arrive in time, and 400 for invalid options. It is 403 while the collection is refused, and 404 while its
 *   resource does not exist.
 * - `SlowConsumer`: the queue of a watch with the policy `"terminate"` was full. 410.
 * - `Overtaken`: the history evicted the next event of the watch while it stalled. 410.
 * - `HistoryLost`: the source lost the history of the resource version, or is a different one. 410.
 * - `Corrupt`: the restored state of the collection is corrupt. 410.
 */
export type WatchEnd = "Closed" | "Timeout" | "CollectionClosed" | "EngineReplaced" | "Refused" | "SlowConsumer" | "Overtaken" | "HistoryLost" | "Corrupt";

/** A watch. Each loop over its events starts a new watch with the same options. */
export interface Watch<T extends object = KubeObject> extends AsyncIterable<WatchEvent<T>> {
  /** Why the last loop ended; undefined before that. */
  readonly end: WatchEnd | undefined;
}

export interface ListOptions extends Selectors, CallOptions {
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

/** A resource, or part of one, that the engine keeps up to date. */
export interface Collection<T extends object = KubeObject> {
  readonly status: CollectionStatus;
  readonly progress: CollectionProgress;
  /** Undefined until the first sync. */
  readonly schema: Schema | undefined;
  /** Calls a listener after every change of {@link status} or {@link schema}, at most once per animation frame. Returns a function that unsubscribes. Bound to the collection. */
  readonly subscribe: (listener: () => void) => () => void;
  /** Like {@link subscribe}, for changes of {@link progress}. */
  readonly subscribeProgress: (listener: () => void) => () => void;
  /**
   * Calls a listener for each object whose latest version cannot be read, with the
   * reason. Returns a function that unsubscribes.
   */
  onObjectError(listener: (key: string, status: Status) => void): () => void;
  /**
   * Resolves when the collection is live for the first time. Rejects when the collection is closed.
   * It stays pending while the collection is `forbidden`, after a 401 or a 403, and while its
   * resource does not exist (404). The collection tries again, so a sign-in, a granted right or the
   * installation of the resource resolves it. Programs that must not wait observe {@link status}.
   * {@link View.ready}, {@link get} and {@link list} reject instead of waiting.
   */
  readonly synced: Promise<void>;
  /**
   * Resolves when the state given as {@link CollectionOptions.restore} is loaded, or
   * immediately if none was given. Rejects if the state is corrupt, incomplete, of
   * another scope or of another release. The collection then discards the state and loads
   * from its source.
   */
  readonly restored: Promise<void>;
  /**
   * Reads the state in chunks for persistence: the complete state, or the changes since
   * the last snapshot. The collection may change meanwhile. Together the chunks contain
   * the state at the position of the last chunk.
   *
   * Throws a 503 if the collection has no state yet. Throws a 410 if the collection is
   * relisted meanwhile, or changes faster than the chunks are read. Take a new
   * snapshot then.
   */
  snapshot(options?: SnapshotOptions): AsyncIterable<SnapshotChunk>;
  watch(options?: WatchOptions): Watch<T>;
  view(options?: ViewOptions): View;
  get(key: string, options?: CallOptions): Promise<T>;
  list(options?: ListOptions): Promise<ListResult<T>>;
  /**
   * Resolves when the collection includes a resource version, such as the version of an
   * object that the program has just written. Rejects when the collection is closed.
   */
  waitFor(resourceVersion: ResourceVersion, options?: CallOptions): Promise<void>;
  close(): void;
  [Symbol.dispose](): void;
}

export interface ObjectOptions {
  /** The owner of the reference, reported by {@link Watchglass.inspect}. Default: none. */
  owner?: string;
}

/**
 * A reference to one object. The object is kept up to date while a reference exists. An open
 * collection that contains the object supplies it. Otherwise the reference has its own watch.
 *
 * Close the handle after use, or declare it with `using`. An unreferenced handle is
 * closed when it is garbage-collected, which may be late or never. A handle with
 * listeners or pending promises is not collected. The first handle of a
 * connection that is closed this way is reported with console.warn.
 */
export interface ObjectHandle<T extends object = KubeObject> {
  /**
   * The latest known version, frozen; the same object as long as it is unchanged.
   * Undefined if the object does not exist or is not known yet.
   */
  readonly current: T | undefined;
  /** Whether the object exists; undefined until that is known. */
  readonly exists: boolean | undefined;
  /** How current the handle is. The last known version stays visible in every state. */
  readonly state: State;
  /** The reason for the state, if it has one. */
  readonly error: Status | undefined;
  /**
   * Resolves when {@link exists} is known for the first time. It stays pending while access is
   * refused, or the resource does not exist; {@link get} then rejects with the reason.
   */
  readonly ready: Promise<void>;
  /**
   * Calls a listener after every change of the members above, at most once per animation
   * frame. Returns a function that unsubscribes. Bound to the handle.
   */
  readonly subscribe: (listener: () => void) => () => void;
  /**
   * Returns a new copy of the object. Waits up to a second; rejects with a 404 if the
   * object does not exist.
   */
  get(options?: CallOptions): Promise<T>;
  close(): void;
  [Symbol.dispose](): void;
}

/** The URL of a script that a Trusted Types policy of the page has created. */
export interface TrustedScriptURL {
  toJSON(): string;
}

export interface ConnectOptions extends CallOptions {
  /**
   * A bearer token, or a function that returns a fresh one for each connection. It is
   * never part of the URL.
   */
  token?: string | (() => string | Promise<string>);
  /**
   * The module: a URL, bytes, or a compiled module. Default: the file next to the
   * package. With a compiled module the engine is dedicated, because compiled modules
   * cannot be shared.
   */
  wasm?: URL | string | BufferSource | WebAssembly.Module;
  /**
   * Where the engine runs: "shared" (one worker for all pages: a SharedWorker, or the Worker of an
   * elected page where there are none), "dedicated" (a Worker of this page), or "inline" (this
   * thread, as in Node). Where no worker can be shared, "shared" has the effect of "dedicated".
   */
  worker?: "shared" | "dedicated" | "inline";
  /**
   * The URL of the worker script. Default: the file next to the package. A script of
   * another origin runs in the Worker of an elected page, because browsers have no
   * SharedWorker for it. A page with Trusted Types passes a TrustedScriptURL.
   */
  workerURL?: URL | string | TrustedScriptURL;
  /**
   * The memory limit for objects in bytes. Default 512 MiB. If pages share an engine, the
   * first page decides.
   */
  maxBytes?: number;
  /**
   * The number of changes that each collection retains for watches that stall or resume.
   * Default 1024. If pages share an engine, the first page decides.
   */
  maxHistory?: number;
  /**
   * How long all pages that share the engine must be hidden until it closes its
   * connections, in milliseconds. A visible page resumes them. Default 60,000; Infinity
   * for never. The first page decides.
   */
  pauseMillis?: number;
  /**
   * Identifies the user. Pages share an engine, and the data that its token may read, if
   * URL and identity are equal. The default depends on the token. A string is the
   * identity itself. JWTs from a token function are identified by their issuer and
   * subject. Other functions are unique to this page. Pages without a token share one
   * identity.
   */
  identity?: string;
  /**
   * Stores the states of collections in IndexedDB, by URL and identity. When a page opens the
   * collections again, it shows the states as `stale` until the connector confirms them. States of
   * Secrets are never stored. `maxBytes` limits all stored states of the origin; default 256 MiB.
   * Call `clearPersisted` of `watchglass/persistence` when the user signs out. Requires a known
   * user (see {@link identity}), IndexedDB and a secure context. Elsewhere, such as in Node, states
   * are not stored, and a warning is logged. The first page decides. Default false.
   */
  persist?: boolean | { maxBytes?: number };
  /**
   * The URL leads to a Kubernetes API, which is read without a connector. See
   * `connectKubernetes`.
   */
  kubernetes?: boolean;
  /**
   * For inline engines: the function that sends requests to Kubernetes, for example one
   * that trusts the cluster's certificate. Outside of browsers it also finds out why a
   * WebSocket was refused. Default: the platform's fetch.
   */
  fetch?: typeof globalThis.fetch;
  /** For inline engines on platforms without WebSocket. Default: the WebSocket of the package `ws`. */
  WebSocket?: new (url: string, protocols: string[]) => WebSocket;
}

/**
 * A resource that this client has open. {@link Watchglass.inspect} uses the same IDs. `of` is the
 * ID of the collection of a view or watch.
 */
export type Opened =
  | { type: "collection"; id: number; resource: string; options: CollectionOptions; collection: Collection }
  | { type: "view"; id: number; of: number; options: ViewOptions; rows: number }
  | { type: "watch"; id: number; of: number; options: WatchOptions; queued: number }
  | { type: "object"; id: number; resource: string; key: string; owner: string; state: State; error: Status | undefined };

/**
 * How current the data of a client is: the worst state of the collections and objects that it has
 * open. A resource that is refused (403) or absent (404) counts as live, because the connection
 * works; its own status has the error. Frozen. It is the same object until a property changes.
 */
export type ClientStatus =
  /** Nothing is open, so no connection is needed. */
  | { readonly state: "idle" }
  /** A resource has not been read yet. If the last attempt failed, `error` has the reason. */
  | { readonly state: "connecting"; readonly error?: Status; readonly nextAttempt?: number }
  /** Objects are being loaded. */
  | { readonly state: "syncing" }
  /** Everything is up to date. */
  | { readonly state: "live" }
  /** The connection is lost, or all pages are hidden. {@link Watchglass.reconnect} does not wait for the next attempt. */
  | { readonly state: "reconnecting"; readonly error?: Status; readonly nextAttempt?: number }
  /** The data may be outdated, because it was not confirmed recently. */
  | { readonly state: "stale"; readonly error?: Status; readonly nextAttempt?: number }
  /** The token was refused (401). The user must sign in, and the program calls {@link Watchglass.reconnect}. */
  | { readonly state: "unauthorized"; readonly error: Status; readonly nextAttempt?: number }
  /** The program closed the client, or its engine cannot run. */
  | { readonly state: "closed"; readonly error: Status };

/** A connection to a connector, shared by everything opened on it. */
export interface Watchglass {
  readonly status: ClientStatus;
  /** Calls a listener after every change of {@link status}, at most once per animation frame. Returns a function that unsubscribes. Bound to the client. */
  readonly subscribe: (listener: () => void) => () => void;
  collection<T extends object = KubeObject>(resource: string, options?: CollectionOptions): Collection<T>;
  /** Takes a reference to one object: `wg.object("v1/configmaps", "ns/name")`. */
  object<T extends object = KubeObject>(resource: string, key: string, options?: ObjectOptions): ObjectHandle<T>;
  /** Returns statistics of the engine, such as "collection.1.objects". */
  inspect(options?: CallOptions): Promise<Record<string, number>>;
  /** Returns the open resources of this client, in the order of opening. */
  opened(): Opened[];
  /** Makes all scheduled reconnect attempts immediately. */
  reconnect(): void;
  close(): void;
  [Symbol.dispose](): void;
  /** Closes the connection, for programs that declare it with `await using`. */
  [Symbol.asyncDispose](): Promise<void>;
}
