import type { Watchglass } from "watchglass";
import { WatchglassInspector } from "watchglass/inspector";

let shown: WatchglassInspector | undefined;

/**
 * Shows the inspector at the bottom of the page, or closes it. Closing it returns the focus to the
 * element that had it before, or calls `focusTable` if that element is gone.
 */
export function toggleInspector(connection: Watchglass, focusTable: () => void): void {
  if (shown) return void shown.dispatchEvent(new Event("close"));
  const before = document.activeElement;
  const inspector = (shown = new WatchglassInspector());
  inspector.client = connection;
  inspector.id = "inspector";
  inspector.addEventListener("close", () => {
    const { activeElement, body } = document;
    shown = undefined;
    inspector.remove();
    if (activeElement !== inspector && activeElement !== body) return; // do not steal the focus
    if (before instanceof HTMLElement && before !== body && before.checkVisibility()) before.focus();
    else focusTable();
  });
  document.body.append(inspector);
  inspector.shadowRoot?.querySelector<HTMLElement>("[role=tab]")?.focus();
}
