import type { CollectionProgress, CollectionStatus, State } from "watchglass";

/**
 * The status and the progress of a collection. The page uses both to show how current the data is.
 */
export type Condition = CollectionStatus & CollectionProgress;
import { byId, setAttribute, setText } from "./dom.ts";
import { age, count } from "./format.ts";

/** States in which the data on the page may be outdated. */
const OUTDATED = new Set<State>(["reconnecting", "stale", "forbidden", "closed"]);

const REASONS: Partial<Record<State, string>> = {
  reconnecting: "The connection was lost; reconnecting.",
  stale: "The server has sent nothing for a while.",
  forbidden: "The server refuses access.",
  closed: "The connection is closed.",
};

/**
 * Shows how current the data on the page is. A pill always shows the state, and a banner appears if
 * the data may be outdated.
 */
export class ConnectionState {
  readonly #pill = byId("pill");
  readonly #state = byId("pill-state");
  readonly #progress = byId("pill-progress");
  readonly #banner = byId("banner");
  readonly #reconnect = byId("reconnect");

  #status: Condition | undefined;

  constructor(onReconnect: () => void) {
    this.#reconnect.addEventListener("click", onReconnect);
    this.#pill.addEventListener("mouseenter", () => {
      if (this.#status) this.#pill.title = details(this.#status);
    });
  }

  /**
   * Draws the pill and the banner for a status. Hides the banner if the page has no rows that
   * could be outdated.
   */
  draw(status: Condition, now: number, hasRows: boolean): void {
    this.#status = status;
    const { state } = status;
    const outdated = OUTDATED.has(state) && hasRows;
    setAttribute(this.#pill, "data-state", state);
    setText(this.#state, state);
    setText(this.#progress, progressText(status, now));
    setAttribute(document.documentElement, "data-outdated", String(outdated));
    this.#reconnect.hidden = state === "live" || state === "syncing";
    setText(this.#reconnect, wayBack(status, hasRows));
    this.#banner.hidden = !outdated;
    if (outdated) setText(this.#banner, bannerText(status));
  }
}

function progressText(status: Condition, now: number): string {
  if (status.state === "syncing" && status.total > 0) return `${count(status.loaded)} of ${count(status.total)}`;
  const progress = status.lastProgress && `last progress ${age(now - status.lastProgress)} ago`;
  return [progress, attemptText(status, now)].filter(Boolean).join(", ");
}

/** Returns the label of the button that reconnects or signs in again. */
function wayBack({ error, nextAttempt }: Condition, hasRows: boolean): string {
  if (error?.code === 401 && hasRows) return "Sign in";
  return nextAttempt ? "Try now" : "Reconnect";
}

/**
 * Returns a message with the time until the next attempt to connect, or an empty string if no
 * attempt is scheduled.
 */
function attemptText({ nextAttempt }: Condition, now: number): string {
  return nextAttempt ? `next attempt in ${age(nextAttempt - now)}` : "";
}

function bannerText(status: Condition): string {
  const time = new Date(status.lastProgress).toLocaleTimeString();
  const rows = status.lastProgress && status.objects ? ` The rows are as of ${time}.` : "";
  const why = status.error ? ` Reason: ${status.error.message}` : "";
  return `${REASONS[status.state] ?? ""}${rows}${why}`;
}

function details(status: Condition): string {
  const lines = [`Resource version ${status.resourceVersion || "unknown"}`, `${count(status.objects)} objects`];
  if (status.lastProgress) lines.push(`Last progress ${new Date(status.lastProgress).toLocaleString()}`);
  if (status.error) lines.push(`${status.error.reason}: ${status.error.message}`);
  return lines.join("\n");
}
