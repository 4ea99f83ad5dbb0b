import type { Status } from "../types.js";
import { Writer } from "../wire/codec.js";
import { writeSubscriptionStatus } from "../wire/status.js";
import { socketPair } from "./platform.js";
import { refuse } from "./refusal.js";
import { closeSocket, upgraded, upgradeRefused } from "./sockets.js";

/**
 * Refuses a reader. A browser does not tell its page what an upgrade was answered
 * with, so it gets its WebSocket, and the reason as its first and last message;
 * everybody else gets the Status itself.
 */
export function turnAway(request: Request, refused: Status): Response {
  if (!request.headers.has("Origin") || upgradeRefused(request)) return refuse(refused);
  const [client, server] = socketPair();
  server.accept();
  const w = new Writer();
  writeSubscriptionStatus(w, 0, refused);
  server.send(w.take());
  closeSocket(server, refused);
  return upgraded(client);
}
