/**
 * The session storage key of the bearer token, for a server that requires one. The browser keeps
 * the token until the tab is closed. The token is never part of a URL.
 */
const STORED = "watchglass.token";

export function storedToken(): string {
  return sessionStorage.getItem(STORED) ?? "";
}

/** Stores a token and reloads the page, because a connection cannot change its token. */
export function signIn(token: string): void {
  sessionStorage.setItem(STORED, token);
  location.reload();
}
