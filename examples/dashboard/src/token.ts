/**
 * The bearer token of a server that asks for one. It lives as long as the tab,
 * and never in a URL.
 */
const STORED = "watchglass.token";

export function storedToken(): string {
  return sessionStorage.getItem(STORED) ?? "";
}

/** A connection keeps the token it was made with, so a new one starts over. */
export function signIn(token: string): void {
  sessionStorage.setItem(STORED, token);
  location.reload();
}
