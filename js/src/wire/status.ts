import type { Status } from "../types.js";
import type { Writer } from "./codec.js";

const subscriptionStatus = 0x19;

/** Ends a subscription, or with number zero the connection. */
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
