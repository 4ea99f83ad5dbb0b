import { closeReason } from "../transport.js";
import type { Status } from "../types.js";
import { Writer } from "../wire/codec.js";
import { socketPair } from "./platform.js";
import { refuse } from "./refusal.js";
import { upgraded, upgradeRefused } from "./upgrade.js";

/**
 * Refuses a reader. A browser does not tell its page what an upgrade was answered
 * with, so it gets its WebSocket, and the reason as its first and last message;
 * everybody else gets the Status itself.
 */
export function turnAway(request: Request, refused: Status): Response {
  if (!request.headers.has("Origin") || upgradeRefused(request)) return refuse(refused);
  const [client, server] = socketPair();
  server.accept();
  server.send(lastWords(refused));
  server.close(1008, closeReason(refused.message));
  return upgraded(client);
}

/** A SubscriptionStatus for subscription zero, which is the whole connection. */
export function lastWords({ code, reason, message, cause = "", retryAfterSeconds = 0, continue: token = "" }: Status): Uint8Array<ArrayBuffer> {
  const w = new Writer();
  w.frame(0x19, () => {
    w.uvarint(0);
    w.uvarint(code);
    for (const text of [reason, message, cause]) w.text(text);
    w.uvarint(retryAfterSeconds);
    w.text(token);
  });
  return w.take();
}
