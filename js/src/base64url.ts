/** Encodes bytes as base64url without padding. */
export function encodeBase64url(bytes: Uint8Array): string {
  const chars = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  return btoa(chars).replace(/\+/g, "-").replace(/\//g, "_").replace(/=/g, "");
}

/** Decodes base64url or base64, with or without padding. Throws for other input. */
export function decodeBase64url(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(text.replace(/-/g, "+").replace(/_/g, "/")), (char) => char.charCodeAt(0));
}

/**
 * Decodes base64url in the form that {@link encodeBase64url} writes, so that each byte sequence has
 * exactly one encoding. Returns undefined for other input.
 */
export function decodeCanonicalBase64url(text: string | undefined): Uint8Array<ArrayBuffer> | undefined {
  if (text === undefined) return undefined;
  try {
    const bytes = decodeBase64url(text);
    return encodeBase64url(bytes) === text ? bytes : undefined;
  } catch {
    return undefined;
  }
}
