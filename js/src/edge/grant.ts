import type { Status } from "../types.js";
import { status } from "./refusal.js";

/**
 * The header with the grant of a request. The edge's Worker sets this header after it has verified
 * a token, and replaces any such header in a client's request.
 */
export const grantHeader = "x-watchglass-grant";

/** The rights of a request. */
export interface Grant {
  /** The resources, for example "v1/pods"; "*" for all. */
  resources: string[];
  /** The namespaces; "*" for all. */
  namespaces: string[];
  /** The time at which the grant expires, in seconds since the epoch. */
  expires: number;
  cluster: string;
  user: string;
  /** True to feed data, false to read it. */
  feed: boolean;
}

/** Reads the grant of a request, or returns a 401. */
export function readGrant(headers: Headers, now: number): Grant | Status {
  const text = headers.get(grantHeader);
  if (text === null) return status(401, "Unauthorized", "a token is required and none was presented");
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return status(401, "Unauthorized", `the header ${grantHeader} is not JSON`);
  }
  const { resources, namespaces, expires, cluster = "", user = "", feed = false } = (value ?? {}) as Partial<Grant>;
  if (!isNames(resources) || !isNames(namespaces) || typeof expires !== "number" || typeof cluster !== "string" || typeof user !== "string") {
    return status(401, "Unauthorized", `the header ${grantHeader} is not JSON with resources, namespaces and expires`);
  }
  if (expires * 1000 <= now) return status(401, "Unauthorized", "the token has expired");
  return { resources, namespaces, expires, cluster, user, feed: feed === true };
}

/**
 * Returns every pair of resource and namespace that a grant allows, in the form of the
 * engine's commands.
 */
export function scopes({ resources, namespaces }: Grant): { resource: string; namespace: string }[] {
  return resources.flatMap((resource) => namespaces.map((namespace) => ({ resource, namespace: namespace === "*" ? "" : namespace })));
}

/**
 * Reports whether a grant allows a namespace of a resource, or all namespaces if `namespace` is
 * empty.
 */
export function covers({ resources, namespaces }: Grant, resource: string, namespace = ""): boolean {
  return (resources.includes("*") || resources.includes(resource)) && (namespaces.includes("*") || namespaces.includes(namespace));
}

/** Reports whether a grant allows reading all data of its cluster. */
export function unrestricted({ resources, namespaces, feed }: Grant): boolean {
  return !feed && resources.includes("*") && namespaces.includes("*");
}

function isNames(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((name) => typeof name === "string" && name !== "");
}
