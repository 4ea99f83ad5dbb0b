/// <reference lib="esnext.disposable" preserve="true" />
/**
 * The public types of watchglass, without code. The main entry and `watchglass/inline` re-export
 * them.
 */
import type { CallOptions, Column, KubeObject, ResourceVersion, Schema, Selectors, State, Status } from "./types/objects.js";
import type { View, ViewOptions } from "./types/views.js";

export type * from "./types/objects.js";
export type * from "./types/views.js";

/**
 * The state of a collection, and the reason for it. The object is frozen. It is replaced only when
 * a property changes.
 */
export interface CollectionStatus {
  /**
   * The state of the collection. While the resource does not exist, the state is `connecting`, and
   * {@link error} is a 404.
   */
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
 * The progress of a collection. The object is frozen. Every change replaces it, possibly many times
 * a second.
 */
export interface CollectionProgress {
  resourceVersion: ResourceVersion;
  /**
   * The time at which the connector last confirmed that the data is complete, in milliseconds since
   * the epoch; 0 before the first confirmation.
   */
  lastProgress: number;
  objects: number;
  /**
   * While the collection is syncing, the number of objects loaded so far. {@link total} estimates
   * the final number.
   */
  loaded: number;
  total: number;
  /**
   * The number of objects whose bodies have arrived; 0 in a collection without bodies. Bodies
   * arrive later than their objects only with {@link CollectionOptions.rowsFirst}.
   */
  bodies: number;
}

export interface CollectionOptions extends Selectors {
  /** Whether to load only rows and metadata, without bodies. Default false. */
  metadataOnly?: boolean;
  /**
   * Whether to load all rows before the bodies. Views, including their order and counts, are
   * complete as soon as all rows are loaded. {@link Collection.get} requests the body of the given
   * object before all other bodies, and rejects if the body does not arrive within 10 s. Watches
   * and lists with bodies start when all bodies have arrived. If the memory limit is reached first,
   * the collection continues without bodies, and {@link CollectionStatus.error} has the reason.
   */
  rowsFirst?: boolean;
  /**
   * The columns of the objects. They replace the default columns, which come from a built-in
   * catalog or from the CustomResourceDefinition. Each column specifies a name, the kind of its
   * cells, and a JSONPath that selects the values. A connector computes the cells from the bodies,
   * even with {@link metadataOnly}. If the connector does not support this, the collection closes
   * with the cause `ColumnsUnsupported`. A connector accepts no printers in these columns, and
   * truncates strings to 1024 bytes.
   *
   * Columns with the printer `join` are added to the columns of the objects, instead of replacing
   * them. Each joined column shows a column of another resource, taken from the object with the
   * same key. Its `path` consists of that resource and the column: `"metrics.k8s.io/v1beta1/pods
   * CPU"`. Only views contain joined columns. All joined columns must come from one resource, which
   * is opened with the user's permissions. While that resource cannot be read, the joined cells are
   * null, and {@link CollectionStatus.error} has the reason with the cause `JoinUnavailable`. The
   * `state` of the collection still describes the objects, not the joined resource.
   *
   * Columns with the printer `children` count the objects that a row owns, directly or through
   * other objects. Their `path` lists the resources of the ownership chain, ending with the counted
   * objects, separated by commas. For a Deployment, `"apps/v1/replicasets,v1/pods"` with the kind
   * `integer` shows the number of pods. The path may end with a space and a column of the counted
   * objects. A column of kind `string` then shows the number of objects for each value:
   * `"apps/v1/replicasets,v1/pods Status"` shows `Running 3, Pending 1`. These resources are opened
   * with the user's permissions, as for joined columns.
   */
  columns?: readonly (Pick<Column, "name" | "kind" | "path"> & Partial<Column>)[];
  /**
   * The stored chunks of {@link Collection.snapshot}: the chunks of a complete state, followed by
   * the chunks of later changes. The collection starts with the stored state, reports the age of
   * this state in {@link Collection.progress}, and resumes from the state's position. See
   * {@link Collection.restored}.
   */
  restore?: Iterable<Uint8Array>;
}

/** The point in a history up to which a stored state is complete. */
export interface Position {
  resourceVersion: ResourceVersion;
  /** Identifies the history to which {@link resourceVersion} belongs, such as an etcd cluster. */
  clusterID: string;
}

export interface SnapshotOptions extends CallOptions {
  /**
   * The position of the state that is already stored. The snapshot then contains only the changes
   * since that position. If these changes are no longer available, the snapshot contains the
   * complete state.
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
   * True if the snapshot replaces all stored chunks. False if it contains only the changes since
   * {@link SnapshotOptions.since}; the caller then appends its chunks to the stored ones.
   */
  whole: boolean;
  /** Whether this is the last chunk. A snapshot without its last chunk cannot be restored. */
  last: boolean;
  /** The position of the state; undefined except in the last chunk. */
  position: Position | undefined;
}

export interface WatchOptions extends Selectors {
  resourceVersion?: ResourceVersion;
  resourceVersionMatch?: "NotOlderThan" | "Exact";
  sendInitialEvents?: boolean;
  allowWatchBookmarks?: boolean;
  timeoutSeconds?: number;
  /**
   * The behavior of the watch if the loop reads events more slowly than they arrive.
   * - `"stall"` (default): the watch pauses, and later continues with the next event. If the
   *   history no longer has that event, the watch ends with a 410. See
   *   {@link ConnectOptions.maxHistory}.
   * - `"conflate"`: the watch skips intermediate states, and delivers the latest state of each
   *   object.
   * - `"terminate"`: the watch ends with a 410 when its queue is full, as in Kubernetes. It also
   *   ends if the collection is relisted because its history was lost, and an object of the watch
   *   no longer exists.
   */
  policy?: "stall" | "terminate" | "conflate";
  /**
   * The maximum number of events that the client queues until the loop reads them. Default 1000.
   */
  credit?: number;
  /**
   * Whether `MODIFIED` events also contain the object before the change, which is decoded only when
   * it is read. Default false.
   */
  previous?: boolean;
  signal?: AbortSignal;
}

/**
 * An event of a watch. Watches deliver no ERROR events: where Kubernetes sends one, the loop throws
 * a `WatchglassError`.
 */
export type WatchEvent<T extends object = KubeObject> =
  | {
      type: "ADDED" | "MODIFIED" | "DELETED";
      /**
       * The object after the event, which is decoded when it is first read. For `DELETED`, its last
       * known state. Each loop has its own copy, which the program may change.
       */
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
 * Why a watch ended. After `Closed` and `Timeout`, the loop over its events ends normally. After
 * any other reason, the loop throws a `WatchglassError` whose `status.cause` is the reason, unless
 * the status has a more specific cause.
 * - `Closed`: the program left the loop or aborted the signal. After an abort, the loop throws the
 *   signal's reason.
 * - `Timeout`: the watch was open for `timeoutSeconds`.
 * - `CollectionClosed`: the collection or the connection was closed.
 * - `EngineReplaced`: the engine failed, and the engine that replaced it cannot continue the watch
 *   (410).
 * - `Refused`: the watch could not start. The code is 410 if the resource version is too old, 504
 *   if the collection did not reach it in time, and 400 for invalid options. The code is 403 if the
 *   user may not read the collection, and 404 if the resource does not exist.
 * - `SlowConsumer`: the queue of a watch with the policy `"terminate"` was full (410).
 * - `Overtaken`: the history evicted the next event of the watch while the watch was paused, or
 *   never contained that event; see {@link WatchOptions.policy} (410).
 * - `HistoryLost`: the source lost the history of the resource version, or the engine now follows a
 *   different source (410).
 * - `Corrupt`: the restored state of the collection is corrupt (410).
 */
export type WatchEnd = "Closed" | "Timeout" | "CollectionClosed" | "EngineReplaced" | "Refused" | "SlowConsumer" | "Overtaken" | "HistoryLost" | "Corrupt";

/** A watch. Each loop over its events starts a new watch with the same options. */
export interface Watch<T extends object = KubeObject> extends AsyncIterable<WatchEvent<T>> {
  /** Why the last loop ended; undefined while it runs, and before the first loop. */
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

/**
 * An open resource, or those of its objects that match selectors. The engine keeps the collection
 * up to date.
 */
export interface Collection<T extends object = KubeObject> {
  readonly status: CollectionStatus;
  readonly progress: CollectionProgress;
  /** The fields and columns of the objects; undefined until the first sync. */
  readonly schema: Schema | undefined;
  /**
   * Calls a listener after every change of {@link status} or {@link schema}, at most once per
   * animation frame. Returns a function that unsubscribes. `subscribe` does not use `this`, so it
   * can be passed on its own.
   */
  readonly subscribe: (listener: () => void) => () => void;
  /** Like {@link subscribe}, for changes of {@link progress}. */
  readonly subscribeProgress: (listener: () => void) => () => void;
  /**
   * Calls a listener with the key of each object whose latest version cannot be read, and the
   * reason. Returns a function that unsubscribes.
   */
  onObjectError(listener: (key: string, status: Status) => void): () => void;
  /**
   * Resolves when the collection is live for the first time. Rejects if the collection is closed
   * before that. The promise remains pending while the state is `forbidden` (401 or 403) and while
   * the resource does not exist (404). The collection keeps trying, so the promise can still
   * resolve, for example after the user signs in or the resource is installed. Programs that must
   * not wait should observe {@link status}. {@link View.ready}, {@link get} and {@link list} reject
   * instead of waiting.
   */
  readonly synced: Promise<void>;
  /**
   * Resolves when the state given as {@link CollectionOptions.restore} is loaded, or immediately if
   * none was given. Rejects if the state is corrupt or incomplete, or belongs to another scope or
   * release. The collection then discards the state and loads from its source.
   */
  readonly restored: Promise<void>;
  /**
   * Reads the state in chunks for persistence: the complete state, or the changes since
   * {@link SnapshotOptions.since}. The collection may change while the chunks are read. Together,
   * the chunks contain the state at the position of the last chunk.
   *
   * Throws a 503 if the collection has no state yet, or lacks bodies. Throws a 410 if the collection
   * is relisted while the chunks are read, or changes faster than they are read. The caller must
   * then start a new snapshot.
   */
  snapshot(options?: SnapshotOptions): AsyncIterable<SnapshotChunk>;
  watch(options?: WatchOptions): Watch<T>;
  view(options?: ViewOptions): View;
  /**
   * Returns an object, as a copy that the program may change. Rejects with a 404 if it does not
   * exist.
   */
  get(key: string, options?: CallOptions): Promise<T>;
  /**
   * Lists copies of the matching objects, in ascending order of keys, at one resource version.
   * Without a limit, lists all of them. Rejects with a 410 if the continue token or the exact
   * version has expired. With a limit, also rejects with a 410 if the version expires while the list
   * is read.
   */
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
  /**
   * The name of the part of the program that holds the reference. {@link Watchglass.opened} and
   * {@link Watchglass.inspect} report it. Default: none.
   */
  owner?: string;
}

/**
 * A reference to one object. The engine keeps the object up to date while it is referenced. If an
 * open collection contains the object, the engine takes the object from that collection. Otherwise
 * the engine watches the single object.
 *
 * Close the handle after use, or declare it with `using`. An unreferenced handle is closed when it
 * is garbage-collected, which may be late or never. A handle with listeners or pending promises is
 * not collected. For each connection, console.warn reports only the first handle that is closed
 * this way.
 */
export interface ObjectHandle<T extends object = KubeObject> {
  /**
   * The latest known version, frozen. The value is replaced only when the version changes. It is
   * undefined if the object does not exist or is not known yet.
   */
  readonly current: T | undefined;
  /** Whether the object exists; undefined until that is known. */
  readonly exists: boolean | undefined;
  /** How current the object is. The last known version remains available in every state. */
  readonly state: State;
  /** The reason for the state, if it has one. */
  readonly error: Status | undefined;
  /**
   * Resolves when {@link exists} is known for the first time. The promise remains pending while
   * access is refused or the resource does not exist; {@link get} then rejects with the reason.
   */
  readonly ready: Promise<void>;
  /**
   * Calls a listener after every change of {@link current}, {@link exists}, {@link state} or
   * {@link error}, at most once per animation frame. Returns a function that unsubscribes.
   * `subscribe` does not use `this`, so it can be passed on its own.
   */
  readonly subscribe: (listener: () => void) => () => void;
  /**
   * Returns a new copy of the object. Waits up to a second for the object; rejects with a 404 if
   * the object does not exist.
   */
  get(options?: CallOptions): Promise<T>;
  close(): void;
  [Symbol.dispose](): void;
}

/** The URL of a script, created by a Trusted Types policy of the page. */
export interface TrustedScriptURL {
  toJSON(): string;
}

export interface ConnectOptions extends CallOptions {
  /**
   * A bearer token, or a function that returns a fresh one for each connection. The token is never
   * part of the URL.
   */
  token?: string | (() => string | Promise<string>);
  /**
   * The WebAssembly module: a URL, bytes, or a compiled module. Default: `watchglass.wasm` next to
   * the package's scripts. With a compiled module, the page has its own engine, because a
   * SharedWorker cannot receive compiled modules.
   */
  wasm?: URL | string | BufferSource | WebAssembly.Module;
  /**
   * Where the engine runs: "shared" (one worker for all pages), "dedicated" (a Worker of this
   * page), or "inline" (this thread, as in Node). A shared worker is a SharedWorker or, where
   * SharedWorkers are unavailable, the Worker of an elected page. If no worker can be shared,
   * "shared" is equivalent to "dedicated". Default: "shared" on pages, and "inline" elsewhere.
   */
  worker?: "shared" | "dedicated" | "inline";
  /**
   * The URL of the worker script. Default: `worker.js` next to the package's scripts. A script from
   * another origin runs in the Worker of an elected page, because browsers refuse to start a
   * SharedWorker from another origin. A page with Trusted Types passes a TrustedScriptURL.
   */
  workerURL?: URL | string | TrustedScriptURL;
  /**
   * The memory limit for objects in bytes. Default 512 MiB. If pages share an engine, the value of
   * the first page applies.
   */
  maxBytes?: number;
  /**
   * The number of changes that each collection retains for watches that stall or resume. Default
   * 1024. If pages share an engine, the value of the first page applies.
   */
  maxHistory?: number;
  /**
   * The time in milliseconds after which an engine closes its connections when all of its pages are
   * hidden. The engine connects again when a page becomes visible. Default 60,000; Infinity keeps
   * the connections open. The value of the first page applies.
   */
  pauseMillis?: number;
  /**
   * Identifies the user. Pages with the same URL and identity share an engine, and thus all data
   * that the engine's token can access. The default depends on the token. A string token is itself
   * the identity. If a token function returns JWTs, their issuer and subject are the identity. With
   * any other token function, or without a token, the page shares its engine with no other page. If
   * the server requires no sign-in, any constant such as "everyone" is a suitable identity.
   */
  identity?: string;
  /**
   * Stores the states of collections in IndexedDB, by URL and identity. When a page opens the
   * collections again, they start with the stored states, and are `reconnecting` or `stale` until
   * the connector confirms them. States of Secrets are never stored. `maxBytes` limits all stored
   * states of the origin; default 256 MiB. Call `clearPersisted` of `watchglass/persistence` when
   * the user signs out. Requires a known user (see {@link identity}), IndexedDB and a secure
   * context. Elsewhere, such as in Node, states are not stored, and a warning is logged. The value
   * of the first page applies. Default false.
   */
  persist?: boolean | { maxBytes?: number };
  /**
   * Whether the URL is that of a Kubernetes API, which the engine reads without a connector. See
   * `connectKubernetes`.
   */
  kubernetes?: boolean;
  /**
   * For inline engines: the function that sends requests to Kubernetes, for example one that trusts
   * the cluster's certificate. Outside of browsers, the engine also uses this function to request
   * the reason when a WebSocket is refused. Default: the platform's fetch.
   */
  fetch?: typeof globalThis.fetch;
  /**
   * For inline engines: the WebSocket class. Default: the platform's class. Node versions without
   * one use the class of the package `ws`.
   */
  WebSocket?: new (url: string, protocols: string[]) => WebSocket;
}

/**
 * A resource that this client has open. {@link Watchglass.inspect} uses the same IDs. `of` is the
 * ID of the collection to which a view or watch belongs.
 */
export type Opened =
  | { type: "collection"; id: number; resource: string; options: CollectionOptions; collection: Collection }
  | { type: "view"; id: number; of: number; options: ViewOptions; rows: number }
  | { type: "watch"; id: number; of: number; options: WatchOptions; queued: number }
  | { type: "object"; id: number; resource: string; key: string; owner: string; state: State; error: Status | undefined };

/**
 * How current the data of a client is: the worst state of the collections and objects that it has
 * open. A resource that is refused (403) or absent (404) counts as live, because the connection
 * works. The error is then in the status of that collection or object. The object is frozen. It is
 * replaced only when a property changes.
 */
export type ClientStatus =
  /** Nothing is open, so no connection is needed. */
  | { readonly state: "idle" }
  /**
   * At least one resource has not been read yet. If the last attempt failed, `error` has the
   * reason.
   */
  | { readonly state: "connecting"; readonly error?: Status; readonly nextAttempt?: number }
  /** Objects are being loaded. */
  | { readonly state: "syncing" }
  /** Everything is up to date. */
  | { readonly state: "live" }
  /**
   * The connection is lost, or was closed because all pages are hidden.
   * {@link Watchglass.reconnect} makes the next attempt immediately.
   */
  | { readonly state: "reconnecting"; readonly error?: Status; readonly nextAttempt?: number }
  /** The data may be outdated, because it was not confirmed recently. */
  | { readonly state: "stale"; readonly error?: Status; readonly nextAttempt?: number }
  /** The token was refused (401). The user must sign in, and the program calls {@link Watchglass.reconnect}. */
  | { readonly state: "unauthorized"; readonly error: Status; readonly nextAttempt?: number }
  /** The program closed the client, or its engine cannot run. */
  | { readonly state: "closed"; readonly error: Status };

/**
 * A client of a connector or a Kubernetes API. All collections and objects that a client opens
 * share its engine.
 */
export interface Watchglass {
  readonly status: ClientStatus;
  /**
   * Calls a listener after every change of {@link status}, at most once per animation frame.
   * Returns a function that unsubscribes. `subscribe` does not use `this`, so it can be passed on
   * its own.
   */
  readonly subscribe: (listener: () => void) => () => void;
  collection<T extends object = KubeObject>(resource: string, options?: CollectionOptions): Collection<T>;
  /** Returns a new reference to one object: `wg.object("v1/configmaps", "ns/name")`. */
  object<T extends object = KubeObject>(resource: string, key: string, options?: ObjectOptions): ObjectHandle<T>;
  /** Returns the statistics of the engine by name, such as "collection.1.objects". */
  inspect(options?: CallOptions): Promise<Record<string, number>>;
  /** Returns the open resources of this client, in the order in which they were opened. */
  opened(): Opened[];
  /** Makes all scheduled reconnect attempts immediately. */
  reconnect(): void;
  close(): void;
  [Symbol.dispose](): void;
  /** Closes the client. Supports `await using`. */
  [Symbol.asyncDispose](): Promise<void>;
}
