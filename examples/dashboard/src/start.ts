import type { Watchglass } from "watchglass";
import { Dashboard } from "./dashboard.ts";
import { byId, setAttribute, setText } from "./dom.ts";
import { Overlay } from "./overlay.ts";
import { startTheme } from "./theme.ts";

declare global {
  /** The dashboard, for a look from the console and for tests. */
  var watchglassDashboard: Dashboard | undefined;
}

/** Runs the page on a connection; says so when there cannot be one. */
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
      title: "Could not start", text: String(error), action: { text: "Try again", run: () => location.reload() },
    });
  }
}
