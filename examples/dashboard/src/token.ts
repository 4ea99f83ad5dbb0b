/**
 * The bearer token for a server that requires one. It is stored for the lifetime of the
 * tab, and never in a URL.
 */
const STORED = "watchglass.token";

export function storedToken(): string {
  return sessionStorage.getItem(STORED) ?? "";
}

/** Stores a token and reloads the page, because a connection keeps its initial token. */
export function signIn(token: string): void {
  sessionStorage.setItem(STORED, token);
  location.reload();
}
