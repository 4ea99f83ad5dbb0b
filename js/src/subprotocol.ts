import type { Status } from "./types.js";

/** The WebSocket subprotocol of this release, which both ends must support. */
export const subprotocol = "watchglass.v2";

/**
 * The subprotocol of the first version. Connectors of that version refuse other versions with an
 * HTTP response, which browsers do not expose. If a client also offers the first version, these
 * connectors accept the connection, and the client reports {@link versionStatus}. Later connectors
 * send the reason themselves.
 */
export const firstSubprotocol = "watchglass.v1";

/** The advice in errors about different releases at the two ends of a connection. */
export const sameRelease = "both ends must be of the same release of watchglass; reload the page, or upgrade the older one";

/** Matches the subprotocol of any version. */
export const versionName = /watchglass\.v\d+/;

/**
 * Returns the status for a peer with another version of the protocol. Returns undefined if the peer
 * has this version or none.
 */
export function versionStatus(theirs: string | undefined): Status | undefined {
  if (theirs === undefined || theirs === subprotocol) return undefined;
  return { code: 400, reason: "ProtocolError", message: `the other end uses ${theirs}, this end ${subprotocol}: ${sameRelease}` };
}
