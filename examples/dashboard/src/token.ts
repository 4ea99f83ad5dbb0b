/**
 * The bearer token for a server that requires one. It is stored for the lifetime of the
 * tab, and never in a URL.
 */
const STORED = "watchglass.token";

export function storedToken(): string {
  return sessionStorage.getItem(STORED) ?? "";
}

/** A connection keeps its initial token, so a new token requires a new page load. */
export function signIn(token: string): void {
  sessionStorage.setItem(STORED, token);
  location.reload();
}
