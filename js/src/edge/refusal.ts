import { WatchglassError } from "../errors.js";
import type { Status } from "../types.js";

export function status(code: number, reason: string, message: string): Status {
  return { code, reason, message };
}

/** Returns the response for a refusal, which is a Status as in the Kubernetes API. */
export function refuse({ code, reason, message, retryAfterSeconds, cause, continue: token }: Status): Response {
  const details = {
    ...(cause && { causes: [{ reason: cause, message }] }),
    ...(retryAfterSeconds && { retryAfterSeconds }),
  };
  const metadata = token ? { continue: token } : {};
  const headers: Record<string, string> = { "Cache-Control": "no-store" };
  if (retryAfterSeconds) headers["Retry-After"] = String(retryAfterSeconds);
  if (code === 401) headers["WWW-Authenticate"] = "Bearer";
  return Response.json({ kind: "Status", apiVersion: "v1", metadata, status: "Failure", message, reason, details, code }, { status: code, headers });
}

/**
 * Returns the response for a thrown error. The message of an unexpected error is logged and not
 * sent, because it may name objects that the client may not read.
 */
export function refusal(error: unknown): Response {
  if (error instanceof WatchglassError) return refuse(error.status);
  console.error("watchglass: a request failed:", error);
  return refuse(status(500, "InternalError", "the request failed; the log of the object has the reason"));
}
