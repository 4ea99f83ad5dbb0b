import type { Status } from "./types.js";

/** Every error that watchglass throws or rejects with. Its status is worded as Kubernetes words it; the message is for the person who reads it. */
export class WatchglassError extends Error {
  override readonly name = "WatchglassError";
  readonly status: Status;

  constructor(status: Status, options?: ErrorOptions) {
    super(status.message, options);
    this.status = status;
  }

  /** The HTTP-like code: 400, 403, 404, 410, 500, … */
  get code(): number {
    return this.status.code;
  }

  /** The machine-readable reason: "NotFound", "Expired", … */
  get reason(): string {
    return this.status.reason;
  }
}

/** Bytes or calls that break the protocol: a bug, or versions that do not belong together. */
export function protocolError(message: string, cause?: unknown): WatchglassError {
  return new WatchglassError({ code: 400, reason: "ProtocolError", message }, { cause });
}

export function badRequest(message: string): WatchglassError {
  return new WatchglassError({ code: 400, reason: "BadRequest", message });
}

export function internalError(message: string, cause?: unknown): WatchglassError {
  return new WatchglassError({ code: 500, reason: "InternalError", message }, { cause });
}

/** What pending promises reject with when their owner is closed. */
export function closedError(what: string): WatchglassError {
  return new WatchglassError({ code: 503, reason: "ServiceUnavailable", message: `${what} is closed` });
}

/** The text of anything that was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
