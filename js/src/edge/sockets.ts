import { messageOf } from "../errors.js";
import { subprotocol, versionStatus } from "../subprotocol.js";
import { closeReason } from "../transport.js";
import type { Status } from "../types.js";
import type { HibernatableSocket } from "./platform.js";
import { refuse, status } from "./refusal.js";

/** Returns the error for a request that cannot become a WebSocket; undefined for other requests. */
export function upgradeRefused(request: Request): Response | undefined {
  if (request.headers.get("Upgrade")?.toLowerCase() !== "websocket") {
    return refuse(status(426, "UpgradeRequired", `this is a WebSocket endpoint: connect with subprotocol ${subprotocol}`));
  }
  if (offeredVersion(request.headers) === undefined) return refuse(status(400, "BadRequest", `the WebSocket subprotocol must be ${subprotocol}`));
  return undefined;
}

/** Returns the subprotocols that a request offers. */
export const offered = (headers: Headers): string[] => (headers.get("Sec-WebSocket-Protocol") ?? "").split(",").map((name) => name.trim());

/** Returns this protocol version if the client offers it, or else another offered version. */
const offeredVersion = (headers: Headers): string | undefined => {
  const names = offered(headers);
  return names.find((name) => name === subprotocol) ?? names.find((name) => name.startsWith("watchglass.v"));
};

/**
 * Returns the status for a client that only offers other versions of the protocol; undefined for
 * other clients.
 */
export function otherVersion(headers: Headers): Status | undefined {
  return versionStatus(offeredVersion(headers));
}

/**
 * Attaches a value to a socket. The value survives while the object hibernates. Returns an error if
 * the value exceeds the platform's 16 KiB.
 */
export function setAttachment(socket: HibernatableSocket, value: unknown): Status | undefined {
  try {
    socket.serializeAttachment(value);
    return undefined;
  } catch (error) {
    return status(431, "RequestHeaderFieldsTooLarge", `the grant of the token is too long to be stored with a connection; grant fewer resources and namespaces: ${messageOf(error)}`);
  }
}

/** Returns the response that accepts an upgrade, with the client's end of the WebSocket. */
export function upgraded(client: HibernatableSocket, { headers }: Request): Response {
  const init = { status: 101, webSocket: client, headers: { "Sec-WebSocket-Protocol": offeredVersion(headers) ?? subprotocol } };
  return new Response(null, init);
}

/** Sends a message to a socket. Ignores failures, which the socket's event handlers report. */
export function send(socket: HibernatableSocket, message: string | Uint8Array): void {
  try {
    socket.send(message);
  } catch {
    // A handler of the socket reports the failure.
  }
}

/**
 * Closes a socket if it is open, with the reason and with the code that a connector would
 * use.
 */
export function closeSocket(socket: HibernatableSocket, why: Status): void {
  try {
    socket.close(closeCode(why), closeReason(`${why.code} ${why.reason}: ${why.message}`));
  } catch {
    // The socket is already closed.
  }
}

function closeCode({ code, reason }: Status): number {
  if (reason === "ProtocolError") return 1002;
  if (code === 503) return 1001;
  if (code === 429) return 1013;
  return code >= 400 && code < 500 ? 1008 : 1011;
}

export function expired(): Status {
  return status(401, "Unauthorized", "the token has expired");
}

export function tooLong(bytes: number, limit: number): Status {
  return protocolBroken(`a message of ${bytes} bytes, the limit is ${limit}`);
}

export function protocolBroken(message: string): Status {
  return status(400, "ProtocolError", message);
}
