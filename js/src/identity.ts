// Pages share an engine, and with it what one token may read, only when they
// have proven to be the same user.
import { WatchglassError } from "./errors.js";
import type { ConnectOptions } from "./types.js";

/** How long a token function may take at the start. A slower one gets an engine of its own. */
const patience = 10_000;

/** Who a page's user is, and how to get a token for that user. */
export interface Identity {
  /** Pages whose names are equal may share an engine. */
  readonly name: string;
  /** The token, where it never changes. */
  readonly fixed: string | undefined;
  token(): Promise<string>;
}

/**
 * Identifies the user: by the `identity` option, by a token that is a string, or
 * by issuer and subject of the JWT that a token function returns. A page whose
 * function returns anything else shares with no other page. A page without a
 * token shares with all that have none.
 */
export async function identify({ identity, token = "" }: Pick<ConnectOptions, "identity" | "token">): Promise<Identity> {
  const named = identity === undefined ? undefined : `named ${identity}`;
  if (typeof token === "string") return { name: named ?? `token ${token}`, fixed: token, token: async () => token };
  if (named) return { name: named, fixed: undefined, token: async () => token() };
  let first = await firstToken(token);
  const subject = first === undefined ? undefined : jwtSubject(first);
  return {
    name: subject ?? `page ${crypto.randomUUID()}`,
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
  new WatchglassError({ code: 401, reason: "Unauthorized", message: "the token function returned a token of another user: close this client and connect again" });

/** Returns the token that the page starts with, or undefined when there is none in time. */
async function firstToken(token: () => string | Promise<string>): Promise<string | undefined> {
  let late: ReturnType<typeof setTimeout> | undefined;
  try {
    return await Promise.race([
      token(),
      new Promise<undefined>((resolve) => void (late = setTimeout(resolve, patience, undefined))),
    ]);
  } catch {
    return undefined; // the function is called again for each connection, and its error is reported there
  } finally {
    clearTimeout(late);
  }
}

/** Returns issuer and subject of a JWT, which this does not verify, or undefined when the token has none. */
export function jwtSubject(token: string): string | undefined {
  try {
    const [, payload = ""] = token.split(".");
    const bytes = Uint8Array.from(atob(payload.replace(/-/g, "+").replace(/_/g, "/")), (c) => c.charCodeAt(0));
    const { iss, sub } = JSON.parse(new TextDecoder().decode(bytes)) as { iss?: unknown; sub?: unknown };
    if (typeof iss !== "string" || typeof sub !== "string" || iss === "" || sub === "") return undefined;
    return `jwt ${JSON.stringify([iss, sub])}`;
  } catch {
    return undefined;
  }
}
