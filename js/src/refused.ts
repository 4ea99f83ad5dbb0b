import type { Status } from "./types.js";
import { Writer } from "./wire/codec.js";
import { writeSubscriptionStatus } from "./wire/status.js";

/** An answer takes no longer than this, and has no more bytes. */
const patience = 5_000;
const maxBytes = 1 << 16;

/** Tells why an upgrade to a WebSocket was refused, as the frame that a browser would be sent instead; undefined when that is not known. */
export type AskWhy = (url: string, token: string, signal: AbortSignal) => Promise<Uint8Array | undefined>;

/**
 * Asks with a plain GET, because WebSockets keep the answer to an upgrade to
 * themselves. A browser need not ask: it says that it is one, by its Origin, and
 * gets its WebSocket with the reason in it.
 */
export function askWhy(fetch: typeof globalThis.fetch): AskWhy {
  return async (url, token, signal) => {
    const headers: Record<string, string> = { accept: "application/json" };
    if (token) headers["authorization"] = `Bearer ${token}`;
    try {
      const response = await fetch(url.replace(/^ws/, "http"), { headers, signal: AbortSignal.any([signal, AbortSignal.timeout(patience)]) });
      const refused = readStatus(await readText(response), response.status);
      if (!refused) return undefined;
      const w = new Writer();
      writeSubscriptionStatus(w, 0, refused);
      return w.take();
    } catch {
      return undefined; // the WebSocket has failed likewise, and tells so
    }
  };
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

/** Reads a Kubernetes Status. That upgrades alone are answered there is no reason why one was not. */
function readStatus(text: string, answered: number): Status | undefined {
  if (answered < 400 || answered === 426) return undefined;
  const { kind, code, reason, message, details, metadata } = JSON.parse(text);
  if (kind !== "Status" || code !== answered || typeof reason !== "string" || typeof message !== "string") return undefined;
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
