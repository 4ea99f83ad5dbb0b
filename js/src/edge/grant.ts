import type { Status } from "../types.js";
import { status } from "./refusal.js";

/** The header that says what a request may do. Whoever routes requests to the object sets it after it has checked a token, and lets none through from outside. */
export const grantHeader = "x-watchglass-grant";

/** What a request may do. */
export interface Grant {
  /** Such as "v1/pods"; "*" for all. */
  resources: string[];
  /** "*" for all. */
  namespaces: string[];
  /** Seconds since the epoch. */
  expires: number;
  cluster: string;
  user: string;
  /** It may bring data, rather than read it. */
  feed: boolean;
}

/** Reads the grant of a request, or says why it must not go on: a 401. */
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
    return status(401, "Unauthorized", `the header ${grantHeader} does not say resources, namespaces and expires`);
  }
  if (expires * 1000 <= now) return status(401, "Unauthorized", "the token has expired");
  return { resources, namespaces, expires, cluster, user, feed: feed === true };
}

/** Every pair of resource and namespace that a grant allows, as the engine takes them. */
export function scopes({ resources, namespaces }: Grant): { resource: string; namespace: string }[] {
  return resources.flatMap((resource) => namespaces.map((namespace) => ({ resource, namespace: namespace === "*" ? "" : namespace })));
}

/** Whether a grant allows a namespace of a resource, or all of it. */
export function covers({ resources, namespaces }: Grant, resource: string, namespace = ""): boolean {
  return (resources.includes("*") || resources.includes(resource)) && (namespaces.includes("*") || namespaces.includes(namespace));
}

function isNames(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((name) => typeof name === "string" && name !== "");
}
