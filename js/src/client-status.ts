import type { ClientStatus, CollectionStatus, Opened } from "./types.js";

/** The states of an open client, from best to worst. */
const states: readonly string[] = ["idle", "live", "syncing", "connecting", "reconnecting", "stale", "unauthorized"];

/** Returns the status of the open collection or object with the worst state, as a frozen object. */
export function clientStatus(opened: readonly Opened[]): ClientStatus {
  let worst: { state: string } = { state: "idle" };
  for (const one of opened) {
    if (one.type !== "collection" && one.type !== "object") continue;
    const { state, error, nextAttempt }: CollectionStatus = "collection" in one ? one.collection.status : { state: one.state, ...(one.error && { error: one.error }) };
    const code = error?.code ?? 0;
    // A refused or absent resource shows that the connection works.
    const shown = code === 403 || code === 404 ? { state: "live" } : { state: code === 401 ? "unauthorized" : state, ...(error && { error }), ...(nextAttempt && { nextAttempt }) };
    if (states.indexOf(shown.state) > states.indexOf(worst.state)) worst = shown;
  }
  return Object.freeze(worst as ClientStatus);
}
