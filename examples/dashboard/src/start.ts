import type { Watchglass } from "watchglass";
import { Dashboard } from "./dashboard.ts";
import { byId, setAttribute, setText } from "./dom.ts";
import { Overlay } from "./overlay.ts";
import { startTheme } from "./theme.ts";

declare global {
  /** The dashboard, for the console and for tests. */
  var watchglassDashboard: Dashboard | undefined;
}

/** Runs the page on a connection, or shows why no connection could be opened. */
export async function start(connect: () => Promise<Watchglass>): Promise<void> {
  startTheme();
  const overlay = new Overlay();
  overlay.showLoading("Loading");
  try {
    globalThis.watchglassDashboard = new Dashboard(await connect());
  } catch (error) {
    setAttribute(byId("pill"), "data-state", "closed");
    setText(byId("pill-state"), "closed");
    overlay.showMessage({
      title: "Could not start", text: await reason(error), action: { text: "Try again", run: () => location.reload() },
    });
  }
}

/**
 * Returns the error message for the user. If the server does not respond, the error would only name
 * a file that could not be loaded, so the message names the server.
 */
async function reason(error: unknown): Promise<string> {
  try {
    await fetch(location.href, { method: "HEAD", cache: "no-store" });
    return String(error);
  } catch {
    return "The server stopped answering while the page was loading. Reload the page once it is back.";
  }
}
