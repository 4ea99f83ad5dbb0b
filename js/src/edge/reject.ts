import type { Status } from "../types.js";
import { Writer } from "../wire/codec.js";
import { writeSubscriptionStatus } from "../wire/status.js";
import { socketPair } from "./platform.js";
import { refuse } from "./refusal.js";
import { closeSocket, upgraded, upgradeRefused } from "./sockets.js";

/**
 * Rejects a reader. A browser does not expose the response to an upgrade, so a browser gets a
 * WebSocket with the reason as the only message. Other clients get the Status as the response.
 */
export function reject(request: Request, refused: Status): Response {
  if (!request.headers.has("Origin") || upgradeRefused(request)) return refuse(refused);
  const [client, server] = socketPair();
  server.accept();
  const w = new Writer();
  writeSubscriptionStatus(w, 0, refused);
  server.send(w.take());
  closeSocket(server, refused);
  return upgraded(client, request);
}
