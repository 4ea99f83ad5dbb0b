import { byId } from "./dom.ts";

type Theme = "light" | "dark";

const STORED = "watchglass.theme";
const system = matchMedia("(prefers-color-scheme: dark)");

/** Uses the system's light or dark theme until the user chooses one. */
export function startTheme(): void {
  const toggle = byId("theme");
  const show = () => {
    const theme = current();
    document.documentElement.dataset.theme = theme;
    toggle.textContent = theme === "dark" ? "☀" : "☾";
    toggle.title = theme === "dark" ? "Switch to light" : "Switch to dark";
    toggle.setAttribute("aria-label", toggle.title);
  };
  toggle.addEventListener("click", () => {
    remember(current() === "dark" ? "light" : "dark");
    show();
  });
  system.addEventListener("change", show);
  show();
}

function current(): Theme {
  return stored() ?? systemTheme();
}

function systemTheme(): Theme {
  return system.matches ? "dark" : "light";
}

function stored(): Theme | undefined {
  const value = localStorage.getItem(STORED);
  return value === "light" || value === "dark" ? value : undefined;
}

/**
 * Stores the user's choice. If the choice is the system's current theme, the page stores nothing
 * and follows the system again.
 */
function remember(theme: Theme): void {
  if (theme === systemTheme()) localStorage.removeItem(STORED);
  else localStorage.setItem(STORED, theme);
}
