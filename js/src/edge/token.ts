import type { Status } from "../types.js";
import { decodeCanonicalBase64url } from "../base64url.js";
import { status } from "./refusal.js";

// This module verifies tokens of host/access/token. The tests of both packages read
// testdata/tokens/vectors.json, so that both accept the same tokens.

const issuer = "watchglass";
const minKeyBytes = 32;
const maxTokenBytes = 8 << 10;

/** The claims of a token. */
export interface Claims {
  user: string;
  cluster: string;
  /** The resources, for example "v1/pods"; "*" for all. */
  resources: string[];
  /** The namespaces; "*" for all. */
  namespaces: string[];
  /** True to feed the resources, false to read them. */
  feed: boolean;
  /** The time at which the token expires, in seconds since the epoch. */
  expires: number;
}

/** Parses one or more keys, separated by whitespace. Errors do not contain the keys. */
export function parseKeys(text: string): Promise<CryptoKey[]> {
  const keys = text.split(/\s+/).filter(Boolean).map((key) => new TextEncoder().encode(key));
  if (keys.length === 0) throw new Error("no key is given; make one with: openssl rand -base64 48");
  const short = keys.findIndex((key) => key.length < minKeyBytes);
  if (short >= 0) throw new Error(`key ${short + 1} has ${keys[short]!.length} bytes, expected at least ${minKeyBytes}; make one with: openssl rand -base64 48`);
  return Promise.all(keys.map((key) => crypto.subtle.importKey("raw", key, { name: "HMAC", hash: "SHA-256" }, false, ["verify"])));
}

const refusals = {
  missing: "a token is required and none was presented",
  long: "the token is too long: expected one from watchglass token",
  malformed: "the token is not a signed token: expected one from watchglass token",
  signature: "the token is not signed with a key of this edge",
  expired: "the token has expired: mint another with watchglass token",
  early: "the token is not valid yet: compare the clocks",
  claims: "the token lacks a claim: expected one from watchglass token",
} as const;

/**
 * Returns the claims of a token that is valid at the time `now`, in milliseconds since the epoch,
 * or else a 401. Signatures are compared in constant time.
 */
export async function verify(keys: readonly CryptoKey[], token: string, now: number): Promise<Claims | Status> {
  if (token === "") return refused("missing");
  if (token.length > maxTokenBytes) return refused("long");
  const parts = token.split(".");
  const [header, payload] = [parts[0], parts[1]].map((part) => parseJSON(decodeCanonicalBase64url(part)));
  const signature = decodeCanonicalBase64url(parts[2]);
  if (parts.length !== 3 || header === undefined || !signature) return refused("malformed");
  const claims = readClaims(payload);
  if (!claims) return refused("malformed");
  if ((header as { alg?: unknown } | null)?.alg !== "HS256") return refused("signature");
  const signed = new TextEncoder().encode(token.slice(0, token.lastIndexOf(".")));
  if (!(await signedByAny(keys, signature, signed))) return refused("signature");
  return judge(claims, Math.floor(now / 1000));
}

async function signedByAny(keys: readonly CryptoKey[], signature: Uint8Array<ArrayBuffer>, signed: Uint8Array<ArrayBuffer>): Promise<boolean> {
  for (const key of keys) {
    if (await crypto.subtle.verify("HMAC", key, signature, signed)) return true;
  }
  return false;
}

/** The claims that a token contains, after their types were checked. */
interface Signed {
  iss: string;
  sub: string;
  exp: number | undefined;
  nbf: number | undefined;
  cluster: string;
  resources: string[];
  namespaces: string[];
  feed: boolean;
}

function judge({ iss, sub, exp, nbf, ...scope }: Signed, now: number): Claims | Status {
  if (exp !== undefined && now >= Math.floor(exp)) return refused("expired");
  if (nbf !== undefined && now < Math.floor(nbf)) return refused("early");
  if (exp === undefined || iss !== issuer) return refused("claims");
  return { user: sub, ...scope, expires: Math.floor(exp) };
}

function readClaims(value: unknown): Signed | undefined {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  const claims = value as Record<string, unknown>;
  const text = (name: string): string | undefined => (typeof (claims[name] ?? "") === "string" ? ((claims[name] ?? "") as string) : undefined);
  const names = (name: string): string[] | undefined => {
    const list = claims[name] ?? [];
    return Array.isArray(list) && list.every((item) => typeof item === "string") ? list : undefined;
  };
  const isTime = (time: unknown): boolean => time === undefined || typeof time === "number";
  const [iss, sub, cluster] = [text("iss"), text("sub"), text("cluster")];
  const [resources, namespaces] = [names("resources"), names("namespaces")];
  const { exp, nbf, feed = false } = claims;
  if (iss === undefined || sub === undefined || cluster === undefined || !resources || !namespaces) return undefined;
  if (!isTime(exp) || !isTime(nbf) || typeof feed !== "boolean") return undefined;
  return { iss, sub, exp: exp as number | undefined, nbf: nbf as number | undefined, cluster, resources, namespaces, feed };
}

function refused(why: keyof typeof refusals): Status {
  return status(401, "Unauthorized", refusals[why]);
}

function parseJSON(bytes: Uint8Array | undefined): unknown {
  try {
    return bytes && JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return undefined;
  }
}
