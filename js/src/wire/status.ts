import type { Status } from "../types.js";
import { readerFrames, type Writer } from "./codec.js";

/** Writes the frame that ends a subscription, or the connection if the number is zero. */
export function writeSubscriptionStatus(w: Writer, subscription: number, status: Status): void {
  w.frame(readerFrames.SubscriptionStatus, () => {
    w.uvarint(subscription);
    writeStatus(w, status);
  });
}

/** Writes a status as part of a frame. */
export function writeStatus(w: Writer, status: Status): void {
  w.uvarint(status.code);
  w.text(status.reason);
  w.text(status.message);
  w.text(status.cause ?? "");
  w.uvarint(status.retryAfterSeconds ?? 0);
  w.text(status.continue ?? "");
}
