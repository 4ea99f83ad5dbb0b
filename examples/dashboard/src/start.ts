import type { Watchglass } from "watchglass";
import { Dashboard } from "./dashboard.ts";
import { byId, create, setAttribute, setText } from "./dom.ts";
import { startTheme } from "./theme.ts";

declare global {
  /** The dashboard, for a look from the console and for tests. */
  var watchglassDashboard: Dashboard | undefined;
}

/** Runs the page on a connection; says so when there cannot be one. */
export async function start(connect: () => Promise<Watchglass>): Promise<void> {
  startTheme();
  try {
    globalThis.watchglassDashboard = new Dashboard(await connect());
  } catch (error) {
    setAttribute(byId("pill"), "data-state", "closed");
    setText(byId("pill-state"), "closed");
    const overlay = byId("overlay");
    overlay.replaceChildren(create("h2", "", "Could not start"), create("p", "muted", String(error)));
    overlay.hidden = false;
  }
}
