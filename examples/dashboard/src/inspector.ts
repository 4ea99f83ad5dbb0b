import type { Watchglass } from "watchglass";
import { WatchglassInspector } from "watchglass/inspector";

let shown: WatchglassInspector | undefined;

/** Shows the inspector at the bottom of the page, or closes it. */
export function toggleInspector(connection: Watchglass, closed: () => void): void {
  if (shown) return void shown.dispatchEvent(new Event("close"));
  const inspector = (shown = new WatchglassInspector());
  inspector.client = connection;
  inspector.id = "inspector";
  inspector.addEventListener("close", () => {
    shown = undefined;
    inspector.remove();
    closed();
  });
  document.body.append(inspector);
  inspector.shadowRoot?.querySelector<HTMLElement>("[role=tab]")?.focus();
}
