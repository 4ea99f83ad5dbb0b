/** Decodes canonical base64url without padding. Returns undefined for anything else. */
export function decodeBase64url(text: string | undefined): Uint8Array<ArrayBuffer> | undefined {
  if (text === undefined || !/^[\w-]*$/.test(text) || text.length % 4 === 1) return undefined;
  const standard = text.replace(/-/g, "+").replace(/_/g, "/");
  const decoded = atob(standard);
  if (btoa(decoded).replace(/=+$/, "") !== standard) return undefined; // bits after the last byte are not zero
  return Uint8Array.from(decoded, (c) => c.charCodeAt(0));
}
