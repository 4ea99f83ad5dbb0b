import type { Status } from "./types.js";

/**
 * The class of all errors that watchglass throws or rejects with. The status follows the
 * conventions of Kubernetes. The message is human-readable.
 */
export class WatchglassError extends Error {
  override readonly name = "WatchglassError";
  readonly status: Status;

  constructor(status: Status, options?: ErrorOptions) {
    super(status.message, options);
    this.status = status;
  }

  /** The HTTP-like status code: 400, 403, 404, 410, 500, … */
  get code(): number {
    return this.status.code;
  }

  /** The machine-readable reason: "NotFound", "Expired", … */
  get reason(): string {
    return this.status.reason;
  }
}

/**
 * Returns an error for bytes or calls that violate the protocol, because of a bug or
 * incompatible versions.
 */
export function protocolError(message: string, cause?: unknown): WatchglassError {
  return new WatchglassError({ code: 400, reason: "ProtocolError", message }, { cause });
}

export function badRequest(message: string): WatchglassError {
  return new WatchglassError({ code: 400, reason: "BadRequest", message });
}

export function internalError(message: string, cause?: unknown): WatchglassError {
  return new WatchglassError({ code: 500, reason: "InternalError", message }, { cause });
}

/** Returns the error that pending promises reject with when their owner is closed. */
export function closedError(what: string): WatchglassError {
  return new WatchglassError({ code: 503, reason: "ServiceUnavailable", message: `${what} is closed` });
}

/** Returns the message of any thrown value. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
