/**
 * The entry `watchglass/informer`: an informer with the API of @kubernetes/client-node, based on
 * watchglass.
 */
import { messageOf, WatchglassError } from "./errors.js";
import { connectionOf, ObjectCache, type Connection, type ObjectChange } from "./follow.js";
import { report } from "./listeners.js";
import type { KubeObject, ResourceVersion, Selectors, State, Status } from "./types.js";

export type { Connection } from "./follow.js";

export const ADD = "add";
export type ADD = typeof ADD;
export const UPDATE = "update";
export type UPDATE = typeof UPDATE;
export const CHANGE = "change";
export type CHANGE = typeof CHANGE;
export const DELETE = "delete";
export type DELETE = typeof DELETE;
export const CONNECT = "connect";
export type CONNECT = typeof CONNECT;
export const ERROR = "error";
export type ERROR = typeof ERROR;

/**
 * The members of an object that an informer reads. The generated types of client-node have these
 * members.
 */
export interface KubernetesObject {
  metadata?: { name?: string; namespace?: string; resourceVersion?: string };
}

/**
 * A function that receives an object that was added, updated or deleted. For an update, it also
 * receives the previous state. If a deletion was missed and detected by a later list,
 * `finalStateUnknown` is true and the object is the last known state.
 */
export type ObjectCallback<T extends KubernetesObject> = (object: T, previous?: T, finalStateUnknown?: boolean) => void;

/**
 * A function that receives the reason why the informer is not current: an error with `code` and
 * `statusCode` as in Kubernetes. For {@link CONNECT}, it receives undefined.
 */
export type ErrorCallback = (error?: any) => void;

/**
 * A ListPromise is accepted for compatibility with client-node. It is never called, because the
 * watch delivers the objects.
 */
export type ListPromise<T extends KubernetesObject> = () => Promise<{ items: T[] }>;

/** Read access to the objects of an informer. */
export interface ObjectCacheReader<T> {
  get(name: string, namespace?: string): T | undefined;
  list(namespace?: string): ReadonlyArray<T>;
}

export interface Informer<T extends KubernetesObject> {
  on(verb: ADD | UPDATE | DELETE | CHANGE, callback: ObjectCallback<T>): void;
  on(verb: ERROR | CONNECT, callback: ErrorCallback): void;
  off(verb: ADD | UPDATE | DELETE | CHANGE, callback: ObjectCallback<T>): void;
  off(verb: ERROR | CONNECT, callback: ErrorCallback): void;
  /**
   * Starts the informer. Resolves when the objects are loaded or {@link stop} is called. Has no
   * effect on a running informer.
   */
  start(): Promise<void>;
  /**
   * Stops the informer. The objects stay in the cache, and the next start reports the changes since
   * the stop. */
  stop(): Promise<void>;
}

/**
 * Returns an informer of the objects at a path such as "/api/v1/namespaces/default/pods".
 *
 * Unlike the informer of client-node, this informer reports failures and recovers automatically.
 * Programs for client-node call start after an error, which has no effect on a running informer.
 */
export function makeInformer<T extends KubernetesObject = KubeObject>(client: Connection, path: string, list?: ListPromise<T>, labelSelector?: string, fieldSelector?: string): Informer<T> & ObjectCacheReader<T> {
  return new ListWatch<T>(path, client, list, false, labelSelector, fieldSelector);
}

type Callback<T extends KubernetesObject> = ObjectCallback<T> | ErrorCallback;

/** An informer and its cache. */
export class ListWatch<T extends KubernetesObject = KubeObject> implements ObjectCacheReader<T>, Informer<T> {
  readonly #client: Connection;
  readonly #resource: string;
  readonly #scope: Selectors;
  readonly #callbacks: Record<string, Callback<T>[]> = { [ADD]: [], [UPDATE]: [], [DELETE]: [], [ERROR]: [], [CONNECT]: [] };
  readonly #cache = new ObjectCache<T>((changes) => this.#changed(changes));
  #run: Run | undefined;

  /** The third parameter exists for compatibility with client-node, and is unused. */
  constructor(path: string, client: Connection, _list?: ListPromise<T>, autoStart = true, labelSelector = "", fieldSelector = "") {
    const { resource, namespace } = parsePath(path);
    this.#client = client;
    this.#resource = resource;
    this.#scope = { namespace, labelSelector, fieldSelector };
    if (autoStart) void this.start();
  }

  on(verb: ADD | UPDATE | DELETE | CHANGE, callback: ObjectCallback<T>): void;
  on(verb: ERROR | CONNECT, callback: ErrorCallback): void;
  on(verb: string, callback: Callback<T>): void {
    for (const callbacks of this.#of(verb)) callbacks.push(callback);
  }

  off(verb: ADD | UPDATE | DELETE | CHANGE, callback: ObjectCallback<T>): void;
  off(verb: ERROR | CONNECT, callback: ErrorCallback): void;
  off(verb: string, callback: Callback<T>): void {
    for (const callbacks of this.#of(verb)) {
      const index = callbacks.indexOf(callback);
      if (index >= 0) callbacks.splice(index, 1);
    }
  }

  start(): Promise<void> {
    if (!this.#run) void this.#follow((this.#run = new Run()));
    return this.#run.ready;
  }

  async stop(): Promise<void> {
    this.#run?.stop();
    this.#run = undefined;
  }

  get(name: string, namespace?: string): T | undefined {
    return this.#cache.objects.get(namespace ? `${namespace}/${name}` : name);
  }

  list(namespace?: string): ReadonlyArray<T> {
    const all = [...this.#cache.objects.values()];
    return namespace ? all.filter(({ metadata }) => metadata?.namespace === namespace) : all;
  }

  latestResourceVersion(): ResourceVersion {
    return this.#cache.resourceVersion;
  }

  #of(verb: string): Callback<T>[][] {
    if (verb === CHANGE) return [ADD, UPDATE, DELETE].flatMap((each) => this.#of(each));
    const callbacks = Object.hasOwn(this.#callbacks, verb) ? this.#callbacks[verb] : undefined;
    if (!callbacks) throw new Error(`Unknown verb: ${verb}`);
    return [callbacks];
  }

  #call(verb: string, ...args: Parameters<ObjectCallback<T>> | [error?: unknown]): void {
    for (const callback of [...this.#callbacks[verb]!]) {
      try {
        (callback as (...args: unknown[]) => void)(...args);
      } catch (error) {
        report(error);
      }
    }
  }

  /** Follows the resource until the run is stopped, or until the resource cannot be watched. */
  async #follow(run: Run): Promise<void> {
    try {
      const wg = await connectionOf(this.#client);
      if (run.signal.aborted) return;
      const collection = wg.collection<T>(this.#resource, this.#scope);
      run.signal.addEventListener("abort", collection.subscribe(() => this.#report(run, collection.status)));
      run.signal.addEventListener("abort", () => collection.close());
      await this.#cache.follow(collection, {}, run.signal);
    } catch (error) {
      if (!run.signal.aborted) this.#call(ERROR, withStatusCode(error));
    } finally {
      run.stop();
      if (this.#run === run) this.#run = undefined;
    }
  }

  #report(run: Run, { state, error }: { state: State; error?: Status }): void {
    if (state === "live") return this.#connected(run);
    if (!error || state === "closed" || (!run.connected && run.error === error.message)) return;
    run.connected = false;
    run.error = error.message;
    this.#call(ERROR, withStatusCode(new WatchglassError(error)));
  }

  #connected(run: Run): void {
    if (run.connected) return;
    run.connected = true;
    this.#call(CONNECT, undefined);
  }

  #changed(changes: ObjectChange<T>[]): void {
    const run = this.#run;
    if (!run) return;
    if (!run.loaded) this.#connected(run);
    for (const { type, object, previous, finalStateUnknown } of changes) {
      if (type === "added") this.#call(ADD, object);
      else if (type === "modified") this.#call(UPDATE, object, previous);
      else this.#call(DELETE, object, undefined, finalStateUnknown ?? false);
    }
    run.load();
  }
}

/** The state of an informer from one start to the next stop. */
class Run {
  readonly #abort = new AbortController();
  readonly signal = this.#abort.signal;
  /** Resolves when the objects are loaded, or when the run is stopped before that. */
  readonly ready: Promise<void>;
  #resolve!: () => void;
  loaded = false;
  connected = false;
  /** The message of the last reported error, which is not reported again while it persists. */
  error = "";

  constructor() {
    this.ready = new Promise((resolve) => (this.#resolve = resolve));
  }

  load(): void {
    this.loaded = true;
    this.#resolve();
  }

  stop(): void {
    this.#abort.abort();
    this.#resolve();
  }
}

/** Adds the `statusCode` that programs written for client-node check, for example for 410. */
function withStatusCode(error: unknown): Error {
  const thrown = error instanceof Error ? error : new Error(messageOf(error));
  return Object.assign(thrown, { statusCode: (thrown as { code?: unknown }).code });
}

/**
 * Parses a path of the Kubernetes API, such as /api/v1/pods or
 * /apis/apps/v1/namespaces/default/deployments.
 */
function parsePath(path: string): { resource: string; namespace: string } {
  const [, group, version, namespace = "", resource] = /^\/api(?:s\/([^/]+))?\/([^/]+)(?:\/namespaces\/([^/]+))?\/([^/?]+)$/.exec(path) ?? [];
  if (!version || !resource) throw new Error(`"${path}" is not the path of a list; expected one such as "/api/v1/pods" or "/apis/apps/v1/namespaces/default/deployments"`);
  return { resource: group ? `${group}/${version}/${resource}` : `${version}/${resource}`, namespace: decodeURIComponent(namespace) };
}
