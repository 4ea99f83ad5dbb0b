import type { ConnectOptions, KubeObject, ObjectMeta, ResourceVersion } from "../types.js";
import { parseFields, parseLabels } from "./selectors.js";

/** An object to apply. The properties that an API server sets are optional. */
export interface ObjectInput {
  apiVersion: string;
  kind: string;
  metadata: Partial<ObjectMeta> & { name: string };
  [member: string]: unknown;
}

type EventType = "ADDED" | "MODIFIED" | "DELETED";

interface Change {
  rv: number;
  resource: string;
  object: KubeObject;
  /** The previous state; undefined for a new object. */
  previous: KubeObject | undefined;
  deleted: boolean;
}

interface Query {
  resource: string;
  namespace: string;
  matches: (object: KubeObject) => boolean;
  params: URLSearchParams;
}

/**
 * An in-memory Kubernetes API, for unit tests of programs that use watchglass. The engine reads
 * this API like a real one, so states, views, selectors and errors are the same as in production:
 *
 *     const cluster = new TestCluster();
 *     cluster.apply({ apiVersion: "v1", kind: "Pod", metadata: { name: "web", namespace: "default" } });
 *     const client = createClient(cluster.url, cluster.options);
 */
export class TestCluster {
  /** The URL to connect to. It is reachable only through {@link options}. */
  readonly url = "http://cluster.test";
  readonly #resources = new Map<string, Map<string, KubeObject>>();
  readonly #denied = new Map<string, string>();
  readonly #uninstalled = new Set<string>();
  readonly #watches = new Set<Watch>();
  #history: Change[] = [];
  /** Watches cannot start from this version or an older one. */
  #expired = 0;
  #rv = 1;
  #uids = 0;
  #isCut = false;

  /** The options for `connect` and `createClient`. Copy the returned object to add options. */
  get options(): ConnectOptions {
    return { kubernetes: true, worker: "inline", fetch: this.fetch };
  }

  /** The latest version of the cluster. */
  get resourceVersion(): ResourceVersion {
    return String(this.#rv);
  }

  /** The watched resources, sorted, with one entry for each open watch. */
  get watches(): string[] {
    return [...this.#watches].map(({ query }) => query.resource).sort();
  }

  /**
   * Creates an object, or replaces the one with the same namespace and name. Returns the stored
   * object.
   *
   * @param resource The resource, for example "apps/v1/deployments". Default: the plural of the
   * kind.
   */
  apply(input: ObjectInput, resource = resourceOf(input)): KubeObject {
    this.#uninstalled.delete(resource);
    const objects = this.#objects(resource);
    const copy = structuredClone(input);
    const key = keyOf(copy.metadata);
    const previous = objects.get(key);
    const rv = ++this.#rv;
    const metadata = {
      creationTimestamp: previous?.metadata["creationTimestamp"] ?? new Date().toISOString().replace(/\.\d+/, ""),
      ...copy.metadata,
      uid: copy.metadata.uid ?? previous?.metadata.uid ?? `uid-${++this.#uids}`,
      resourceVersion: String(rv),
    };
    const object: KubeObject = { ...copy, metadata };
    objects.set(key, object);
    this.#record({ rv, resource, object, previous, deleted: false });
    return structuredClone(object);
  }

  /** Updates an object with a function that edits a copy. Returns the stored object. */
  update(resource: string, key: string, edit: (object: any) => void): KubeObject {
    const object = structuredClone(this.#find(resource, key));
    edit(object);
    return this.apply(object, resource);
  }

  /** Deletes an object by its key, "namespace/name" or "name". */
  delete(resource: string, key: string): void {
    const previous = this.#find(resource, key);
    this.#objects(resource).delete(key);
    const rv = ++this.#rv;
    const object = { ...previous, metadata: { ...previous.metadata, resourceVersion: String(rv) } };
    this.#record({ rv, resource, object, previous, deleted: true });
  }

  /**
   * Deletes the objects of a resource and the resource itself, as when its CustomResourceDefinition
   * is deleted. Watches of the resource end, and requests get 404 until {@link apply} creates an
   * object of the resource.
   */
  uninstall(resource: string): void {
    for (const key of [...this.#objects(resource).keys()]) this.delete(resource, key);
    this.#uninstalled.add(resource);
    this.#endWatches(resource);
  }

  /** Breaks every connection, and refuses new ones until {@link restore}. */
  cut(): void {
    this.#isCut = true;
    for (const watch of this.#watches) watch.break(new TypeError("the test closed the connection"));
  }

  /**
   * Accepts connections again. Readers reconnect at their next attempt. `wg.reconnect()` makes that
   * attempt immediately.
   */
  restore(): void {
    this.#isCut = false;
  }

  /**
   * Drops the history. Open watches end with a 410, and so do later watches that start from an
   * older version.
   */
  expire(): void {
    this.#history = [];
    this.#expired = this.#rv++;
    for (const watch of this.#watches) watch.end(errorEvent(gone(this.#expired)));
  }

  /**
   * Revokes the right to read a resource. Watches of the resource end, and requests for the
   * resource get 403.
   */
  deny(resource: string, message = `${resource} is forbidden: the test denies it`): void {
    this.#denied.set(resource, message);
    this.#endWatches(resource);
  }

  /**
   * Restores the right to read a resource. Readers regain access at their next attempt.
   * `wg.reconnect()` makes that attempt immediately.
   */
  allow(resource: string): void {
    this.#denied.delete(resource);
  }

  /** Serves the requests of a client. The function has the signature of `fetch`. */
  readonly fetch = async (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
    const url = new URL(input instanceof Request ? input.url : input);
    const signal = init?.signal ?? undefined;
    signal?.throwIfAborted();
    if (this.#isCut) throw new TypeError("the test closed the connection");
    if (url.pathname === "/api/v1/namespaces/kube-system") return json({ metadata: { uid: "test-cluster" } });
    if (url.pathname === "/api" || url.pathname === "/apis") return this.#aggregated(url.pathname === "/api");
    const group = /^\/(?:api|apis\/([^/]+))\/([^/]+)$/.exec(url.pathname);
    if (group) return this.#discover(group[1] ? `${group[1]}/${group[2]}/` : `${group[2]}/`);
    let query: Query;
    try {
      query = parseQuery(url);
    } catch (error) {
      return failure(400, "BadRequest", (error as Error).message);
    }
    const denied = this.#denied.get(query.resource);
    if (denied !== undefined) return failure(403, "Forbidden", denied);
    if (this.#uninstalled.has(query.resource)) return notFound();
    return query.params.has("watch") ? this.#watch(query, signal) : this.#list(query);
  };

  #objects(resource: string): Map<string, KubeObject> {
    let objects = this.#resources.get(resource);
    if (!objects) this.#resources.set(resource, (objects = new Map()));
    return objects;
  }

  #find(resource: string, key: string): KubeObject {
    const object = this.#resources.get(resource)?.get(key);
    if (!object) throw new Error(`the test cluster has no ${resource} "${key}"; it has ${[...this.#objects(resource).keys()].join(", ") || "none of them"}`);
    return object;
  }

  #record(change: Change): void {
    this.#history.push(change);
    for (const watch of this.#watches) {
      const line = eventOf(change, watch.query);
      if (line) watch.send(line);
      watch.send(this.#bookmark(watch.query)); // the reader has received everything up to here
    }
  }

  #discover(prefix: string): Response {
    const resources = [...this.#resources].filter(([resource]) => resource.startsWith(prefix)).flatMap(([resource, objects]) => {
      const [first] = objects.values();
      return first ? [{ name: resource.slice(prefix.length), kind: first.kind, namespaced: first.metadata.namespace !== undefined }] : [];
    });
    return resources.length ? json({ kind: "APIResourceList", resources }) : notFound();
  }

  /**
   * Returns the aggregated discovery document of the core group, or of all other groups. The
   * document contains only resources that have objects.
   */
  #aggregated(core: boolean): Response {
    const groups = new Map<string, Map<string, unknown[]>>();
    for (const [name, objects] of this.#resources) {
      const [, group = "", version, resource] = /^(?:(.*)\/)?([^/]+)\/([^/]+)$/.exec(name)!;
      const [first] = objects.values();
      if (!first || (group === "") !== core) continue;
      const versions = groups.get(group) ?? new Map<string, unknown[]>();
      groups.set(group, versions.set(version!, versions.get(version!) ?? []));
      const scope = first.metadata.namespace === undefined ? "Cluster" : "Namespaced";
      versions.get(version!)!.push({ resource, responseKind: { kind: first.kind }, scope, verbs: ["get", "list", "watch"] });
    }
    const items = [...groups].map(([name, versions]) => ({ metadata: name ? { name } : {}, versions: [...versions].map(([version, resources]) => ({ version, resources })) }));
    return json({ kind: "APIGroupDiscoveryList", items });
  }

  #endWatches(resource: string): void {
    for (const watch of this.#watches) if (watch.query.resource === resource) watch.end(this.#bookmark(watch.query));
  }

  #matching(query: Query): KubeObject[] {
    const objects = [...(this.#resources.get(query.resource) ?? [])].filter(([, object]) => query.matches(object));
    return objects.sort(([a], [b]) => (a < b ? -1 : 1)).map(([, object]) => object);
  }

  #list(query: Query): Response {
    const limit = Number(query.params.get("limit") ?? 0);
    const items = this.#matching(query);
    // The engine uses a list with a limit only to read the newest version. It reads complete states
    // with watches.
    return json({ kind: "List", metadata: { resourceVersion: this.resourceVersion }, items: limit ? items.slice(0, limit) : items });
  }

  #watch(query: Query, signal: AbortSignal | undefined): Response {
    const { params } = query;
    const from = Number(params.get("resourceVersion") ?? 0);
    const initial = params.get("sendInitialEvents") === "true";
    if (!initial && from <= this.#expired) return failure(410, "Expired", gone(from).message);
    const watch = new Watch(query, signal, () => this.#watches.delete(watch));
    this.#watches.add(watch);
    if (initial) {
      for (const object of this.#matching(query)) watch.send(line("ADDED", object));
      watch.send(this.#bookmark(query, true));
    } else {
      for (const change of this.#history) {
        const text = change.rv > from && eventOf(change, query);
        if (text) watch.send(text);
      }
      watch.send(this.#bookmark(query));
    }
    watch.endAfter(Number(params.get("timeoutSeconds") ?? 300), () => this.#bookmark(query));
    return new Response(watch.body, { headers: { "content-type": "application/json" } });
  }

  #bookmark({ resource }: Query, initialEventsEnd = false): string {
    const [, apiVersion] = /^(.*)\/[^/]+$/.exec(resource)!;
    const annotations = initialEventsEnd ? { annotations: { "k8s.io/initial-events-end": "true" } } : {};
    return line("BOOKMARK", { apiVersion, metadata: { resourceVersion: this.resourceVersion, ...annotations } });
  }
}

/**
 * Returns the class ReadableStream. Vitest's VM pools with jsdom lack the global, although their
 * responses have streams.
 */
function streams(): typeof ReadableStream {
  return globalThis.ReadableStream ?? new Response("").body!.constructor;
}

/** One open watch. */
class Watch {
  readonly query: Query;
  readonly body: ReadableStream<Uint8Array>;
  readonly #onEnd: () => void;
  #controller!: ReadableStreamDefaultController<Uint8Array>;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(query: Query, signal: AbortSignal | undefined, onEnd: () => void) {
    this.query = query;
    this.#onEnd = onEnd;
    this.body = new (streams())({
      start: (controller) => void (this.#controller = controller),
      cancel: () => this.#release(),
    });
    signal?.addEventListener("abort", () => this.break(signal.reason), { once: true });
  }

  send(text: string): void {
    this.#controller.enqueue(new TextEncoder().encode(text));
  }

  end(last: string): void {
    this.#release();
    this.send(last);
    this.#controller.close();
  }

  break(reason: unknown): void {
    this.#release();
    this.#controller.error(reason); // has no effect on a stream that has ended
  }

  endAfter(seconds: number, last: () => string): void {
    this.#timer = setTimeout(() => this.end(last()), seconds * 1000);
    (this.#timer as { unref?: () => void }).unref?.();
  }

  #release(): void {
    clearTimeout(this.#timer);
    this.#onEnd();
  }
}

/**
 * Returns the event that a watch reports for a change, or undefined if it reports none. An object
 * that begins to match is reported as added, and an object that stops matching as deleted.
 */
function eventOf({ resource, object, previous, deleted }: Change, query: Query): string | undefined {
  if (resource !== query.resource) return undefined;
  const before = previous !== undefined && query.matches(previous);
  const now = !deleted && query.matches(object);
  if (!before && !now) return undefined;
  return line(!before ? "ADDED" : now ? "MODIFIED" : "DELETED", object);
}

function line(type: EventType | "BOOKMARK" | "ERROR", object: object): string {
  return `${JSON.stringify({ type, object })}\n`;
}

const errorEvent = (status: object): string => line("ERROR", status);

function statusObject(code: number, reason: string, message: string) {
  return { kind: "Status", apiVersion: "v1", status: "Failure", code, reason, message };
}

const gone = (rv: number) => statusObject(410, "Expired", `too old resource version: ${rv}`);

function json(body: object, status = 200): Response {
  return new Response(JSON.stringify(body), { status, headers: { "content-type": "application/json" } });
}

const failure = (code: number, reason: string, message: string): Response => json(statusObject(code, reason, message), code);

const notFound = (): Response => failure(404, "NotFound", "the server could not find the requested resource");

function parseQuery({ pathname, searchParams: params }: URL): Query {
  const [, group, version, namespace = "", name] = /^\/api(?:s\/([^/]+))?\/([^/]+)(?:\/namespaces\/([^/]+))?\/([^/]+)$/.exec(pathname)?.map((part) => part && decodeURIComponent(part)) ?? [];
  if (!version || !name) throw new Error(`the test cluster has no path ${pathname}`);
  const labels = parseLabels(params.get("labelSelector") ?? "");
  const fields = parseFields(params.get("fieldSelector") ?? "");
  const matches = (object: KubeObject): boolean => (!namespace || object.metadata.namespace === namespace) && labels(object.metadata.labels ?? {}) && fields(object);
  return { resource: group ? `${group}/${version}/${name}` : `${version}/${name}`, namespace, matches, params };
}

/** Returns the resource of an object, with the plural of its kind formed as in Kubernetes. */
function resourceOf({ apiVersion, kind }: ObjectInput): string {
  const name = kind.toLowerCase();
  const plural = name === "endpoints" ? name : /(s|x|ch|sh)$/.test(name) ? `${name}es` : /[^aeiou]y$/.test(name) ? `${name.slice(0, -1)}ies` : `${name}s`;
  return `${apiVersion}/${plural}`;
}

function keyOf({ namespace, name }: { namespace?: string; name: string }): string {
  return namespace ? `${namespace}/${name}` : name;
}
