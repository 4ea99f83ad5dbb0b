import type { Status } from "../types.js";
import type { Writer } from "./codec.js";

const subscriptionStatus = 0x19;

/** Writes the frame that ends a subscription, or the connection if the number is zero. */
export function writeSubscriptionStatus(w: Writer, subscription: number, status: Status): void {
  w.frame(subscriptionStatus, () => {
    w.uvarint(subscription);
    w.uvarint(status.code);
    w.text(status.reason);
    w.text(status.message);
    w.text(status.cause ?? "");
    w.uvarint(status.retryAfterSeconds ?? 0);
    w.text(status.continue ?? "");
  });
}
