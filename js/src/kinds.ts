/**
 * The entry `watchglass/kinds`, which discovers the kinds that a cluster offers and their columns.
 */
import type { CallOptions, Schema, Status, Watchglass } from "./types.js";

/** A kind that can be read with a collection. */
export interface Kind {
  /** The name to pass to {@link Watchglass.collection}, such as "apps/v1/deployments". */
  resource: string;
  /** The API group; "" for the core group. */
  group: string;
  version: string;
  /** The plural name, such as "deployments". */
  plural: string;
  /** The singular name, such as "deployment". */
  singular: string;
  /** The kind of the objects, such as "Deployment". */
  kind: string;
  namespaced: boolean;
  /** Abbreviations, such as "deploy". */
  shortNames: string[];
  /** Names of groups of kinds, such as "all". */
  categories: string[];
}

export interface KindsOptions extends CallOptions {
  /** A bearer token, or a function that returns one. */
  token?: string | (() => string | Promise<string>);
  /** The function that sends the requests. Default: the platform's fetch. */
  fetch?: typeof globalThis.fetch;
}

/**
 * The error of {@link listKinds}. It has the members of a `WatchglassError`, but is not an instance
 * of that class.
 */
export interface KindsError extends Error {
  readonly status: Status;
}

/** The parts of an aggregated discovery document that this module reads. */
interface Discovery {
  items: {
    metadata: { name?: string };
    versions: {
      version: string;
      resources?: {
        resource: string;
        responseKind?: { kind: string };
        scope: string;
        singularResource?: string;
        verbs: string[];
        shortNames?: string[];
        categories?: string[];
      }[];
    }[];
  }[];
}

const accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/**
 * Returns the kinds that a connector, an edge or a Kubernetes API offers for list and watch, sorted
 * by resource. The result includes the kinds of CustomResourceDefinitions. A resource with several
 * versions is listed once, in the preferred version.
 *
 * With the URL of a connector or an edge, as for `connect`, the result contains the kinds that this
 * server serves. An edge needs the Go worker, which serves its Kubernetes API. The URL of a
 * Kubernetes API, as for `connectKubernetes`, requires Kubernetes 1.30 or later. Rejects with a
 * {@link KindsError}.
 */
export async function listKinds(url: string | URL, options: KindsOptions = {}): Promise<Kind[]> {
  const { href } = new URL(url, typeof location === "object" ? location.href : undefined);
  const base = href.replace(/[?#].*/, "").replace(/^ws/, "http").replace(/(\/watch)?\/*$/, "");
  const { fetch = globalThis.fetch, signal = null } = options;
  const token = typeof options.token === "function" ? await options.token() : options.token;
  const headers = { accept, ...(token && { authorization: `Bearer ${token}` }) };
  const documents = ["/api", "/apis"].map(async (path) => {
    const response = await fetch(base + path, { headers, signal });
    if (!response.ok) throw failed(response.status, `${base}${path} cannot be read: HTTP status ${response.status}`);
    const found = (await response.json().catch(() => ({}))) as Partial<Discovery>; // an older connector responds with its web page
    if (!found.items) throw failed(501, `${base}${path} is not aggregated discovery: Kubernetes 1.30 or later is expected`);
    return kindsOf(found as Discovery);
  });
  const kinds = (await Promise.all(documents)).flat();
  return kinds.sort((a, b) => (a.resource < b.resource ? -1 : 1));
}

function kindsOf({ items }: Discovery): Kind[] {
  return items.flatMap(({ metadata: { name: group = "" }, versions }) => {
    const listed = new Map<string, Kind>(); // by plural; the preferred version is the first
    for (const { version, resources = [] } of versions) {
      for (const { resource: plural, responseKind, scope, singularResource, verbs, shortNames = [], categories = [] } of resources) {
        if (listed.has(plural) || !verbs.includes("list") || !verbs.includes("watch")) continue;
        const { kind = plural } = responseKind ?? {};
        const resource = `${group && `${group}/`}${version}/${plural}`;
        listed.set(plural, { resource, group, version, plural, singular: singularResource || kind.toLowerCase(), kind, namespaced: scope === "Namespaced", shortNames, categories });
      }
    }
    return [...listed.values()];
  });
}

function failed(code: number, message: string): KindsError {
  const reason = { 401: "Unauthorized", 403: "Forbidden", 404: "NotFound", 501: "NotImplemented" }[code] ?? "InternalError";
  return Object.assign(new Error(message), { name: "WatchglassError", code, reason, status: { code, reason, message } });
}

/**
 * Returns the columns and fields of a resource, without loading its objects. Rejects as
 * `list` does, for example with a 404 if the resource does not exist.
 */
export async function schemaOf(wg: Watchglass, resource: string, options: CallOptions = {}): Promise<Schema> {
  // An open collection of the resource may already have the schema. Otherwise, list the objects
  // with a name that no object has, so that only the schema is loaded.
  const open = wg.opened().find((one) => one.type === "collection" && one.resource === resource && one.collection.schema);
  if (open?.type === "collection") return open.collection.schema!;
  const collection = wg.collection(resource, { metadataOnly: true, fieldSelector: "metadata.name=0.schema" });
  try {
    await collection.list(options);
    return collection.schema!;
  } finally {
    collection.close();
  }
}
