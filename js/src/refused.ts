import type { Status } from "./types.js";
import { Writer } from "./wire/codec.js";
import { writeSubscriptionStatus } from "./wire/status.js";

/** The time limit of a request in milliseconds, and the size limit of its response in bytes. */
const timeoutMillis = 5_000;
const maxBytes = 1 << 16;

/**
 * A function that determines why an upgrade to a WebSocket was refused. Resolves with the frame
 * that a browser would have received, or with undefined if the reason is not known.
 */
export type FindRefusal = (url: string, token: string, signal: AbortSignal) => Promise<Uint8Array | undefined>;

/**
 * Returns a function that requests the reason with a plain GET, because WebSockets do not expose
 * the response to an upgrade. Browsers do not need this request. The connector recognizes browsers
 * by the Origin header, and reports the reason through an accepted WebSocket.
 */
export function findRefusal(fetch: typeof globalThis.fetch): FindRefusal {
  return async (url, token, signal) => {
    const headers: Record<string, string> = { accept: "application/json" };
    if (token) headers["authorization"] = `Bearer ${token}`;
    try {
      const response = await fetch(url.replace(/^ws/, "http"), { headers, signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMillis)]) });
      const refused = readStatus(await readText(response), response.status);
      return refused && refusal(refused);
    } catch {
      return undefined; // the WebSocket reports its own error
    }
  };
}

/** Returns the frame that a connector sends to refuse a connection. */
export function refusal(status: Status): Uint8Array {
  const w = new Writer();
  writeSubscriptionStatus(w, 0, status);
  return w.take();
}

async function readText(response: Response): Promise<string> {
  const reader = response.body?.getReader();
  const decoder = new TextDecoder();
  let text = "";
  for (let bytes = 0; bytes <= maxBytes; ) {
    const piece = await reader?.read();
    if (!piece || piece.done) return text;
    bytes += piece.value.length;
    text += decoder.decode(piece.value, { stream: true });
  }
  await reader?.cancel();
  return "";
}

/**
 * Parses a Kubernetes Status. Returns undefined for anything else, and for a 426. A 426 only states
 * that an upgrade is required, which does not explain the refusal.
 */
function readStatus(text: string, responseCode: number): Status | undefined {
  if (responseCode < 400 || responseCode === 426) return undefined;
  const { kind, code, reason, message, details, metadata } = JSON.parse(text);
  if (kind !== "Status" || code !== responseCode || typeof reason !== "string" || typeof message !== "string") return undefined;
  const seconds = Number(details?.retryAfterSeconds);
  return {
    code,
    reason,
    message,
    ...(details?.causes?.[0]?.reason && { cause: String(details.causes[0].reason) }),
    ...(Number.isInteger(seconds) && seconds > 0 && { retryAfterSeconds: seconds }),
    ...(metadata?.continue && { continue: String(metadata.continue) }),
  };
}
