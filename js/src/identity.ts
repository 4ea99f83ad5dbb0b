// Pages that share an engine share the data that one token can access. Pages share an engine only
// if their tokens or identities show that they belong to the same user.
import { decodeBase64url } from "./base64url.js";
import { WatchglassError } from "./errors.js";
import { randomName } from "./random.js";
import type { ConnectOptions } from "./types.js";

/**
 * How long the first call of a token function may take, in milliseconds. A page with a slower
 * function gets its own engine.
 */
const timeoutMillis = 10_000;

/** The prefix of the names of unknown users. Each page has its own. */
const ofPage = "page ";

/** Reports whether the name of an {@link Identity} identifies a user. */
export const isKnown = (name: string): boolean => !name.startsWith(ofPage);

/** The user of a page, and the source of tokens for that user. */
export interface Identity {
  /** Pages with equal names may share an engine. */
  readonly name: string;
  /** The token, if it never changes. */
  readonly fixed: string | undefined;
  token(): Promise<string>;
}

/**
 * Identifies the user by the `identity` option, by a string token, or by the issuer and subject of
 * a token function's JWT. Any other page does not share its engine. This includes a page without a
 * token: its session may be a cookie, and the next page may have the cookie of another user.
 */
export async function identify({ identity, token = "" }: Pick<ConnectOptions, "identity" | "token">): Promise<Identity> {
  const named = identity === undefined ? undefined : `named ${identity}`;
  const unknown = ofPage + randomName();
  if (typeof token === "string") return { name: named ?? (token ? `token ${token}` : unknown), fixed: token, token: async () => token };
  if (named) return { name: named, fixed: undefined, token: async () => token() };
  let first = await firstToken(token);
  const subject = first === undefined ? undefined : jwtSubject(first);
  return {
    name: subject ?? unknown,
    fixed: undefined,
    token: async () => {
      const next = first ?? (await token());
      first = undefined;
      if (subject && jwtSubject(next) !== subject) throw otherUser();
      return next;
    },
  };
}

const otherUser = (): WatchglassError =>
  new WatchglassError({ code: 401, reason: "Unauthorized", message: "the new token is of another user: connect again" });

/** Returns the page's first token, or undefined if the function fails or is too slow. */
async function firstToken(token: () => string | Promise<string>): Promise<string | undefined> {
  let late: ReturnType<typeof setTimeout> | undefined;
  try {
    return await Promise.race([
      token(),
      new Promise<undefined>((resolve) => void (late = setTimeout(resolve, timeoutMillis, undefined))),
    ]);
  } catch {
    return undefined; // each connection calls the function again and reports its error
  } finally {
    clearTimeout(late);
  }
}

/**
 * Returns the issuer and subject of a JWT without verifying it, or undefined if the token
 * has none.
 */
export function jwtSubject(token: string): string | undefined {
  try {
    const [, payload = ""] = token.split(".");
    const { iss, sub } = JSON.parse(new TextDecoder().decode(decodeBase64url(payload))) as { iss?: unknown; sub?: unknown };
    if (typeof iss !== "string" || typeof sub !== "string" || !iss || !sub) return undefined;
    return `jwt ${JSON.stringify([iss, sub])}`;
  } catch {
    return undefined;
  }
}
