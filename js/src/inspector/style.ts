// Each color is a pair, for light and dark pages. The page's color-scheme selects one of the pair.
// Where light-dark() is unavailable, the system setting selects the color.
const colors: Record<string, [light: string, dark: string]> = {
  "--surface": ["#ffffff", "#151a21"],
  "--raised": ["#f1f3f6", "#1c222b"],
  "--line": ["#d5dae1", "#313945"],
  "--text": ["#1b2027", "#e3e8ef"],
  "--muted": ["#5a6472", "#97a2b1"],
  "--accent": ["#2159c9", "#7eaaff"],
  "--good": ["#1a7f45", "#4cc38a"],
  "--warn": ["#96600a", "#e3b341"],
  "--bad": ["#c22f38", "#ff7b78"],
};

const variables = (value: (light: string, dark: string) => string): string =>
  `:host { ${Object.entries(colors).map(([name, [light, dark]]) => `${name}: ${value(light, dark)};`).join(" ")} }`;

export const css = `
${variables((light) => light)}
@media (prefers-color-scheme: dark) { ${variables((_, dark) => dark)} }
@supports (color: light-dark(#000, #fff)) { ${variables((light, dark) => `light-dark(${light}, ${dark})`)} }
:host {
  display: flex; flex-direction: column; min-height: 0; box-sizing: border-box;
  border: 1px solid var(--line); background: var(--surface); color: var(--text);
  font: 12px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; text-align: start;
}
:host([hidden]) { display: none; }
* { box-sizing: border-box; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: -2px; }
header { display: flex; align-items: center; gap: 12px; padding: 4px 4px 4px 12px; }
h2 { margin: 0; font-size: 13px; font-weight: 600; }
header p { flex: 1; margin: 0; color: var(--bad); overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
dl { display: flex; flex-wrap: wrap; gap: 2px 20px; margin: 0; padding: 0 12px 6px; }
dl div { display: flex; gap: 6px; }
dt { color: var(--muted); }
dd { margin: 0; font-weight: 600; font-variant-numeric: tabular-nums; }
[role=tablist] { display: flex; flex-wrap: wrap; padding: 0 8px; border-bottom: 1px solid var(--line); }
button, select { padding: 3px 10px; border: 1px solid var(--line); border-radius: 5px; background: var(--surface); color: inherit; font: inherit; white-space: nowrap; cursor: pointer; }
button:hover:enabled { background: var(--raised); }
button[aria-pressed=true] { border-color: var(--accent); color: var(--accent); }
[role=tab] { padding: 5px 10px; border: 0; border-bottom: 2px solid transparent; border-radius: 0; color: var(--muted); }
[role=tab][aria-selected=true] { border-bottom-color: var(--accent); color: var(--text); font-weight: 600; }
[role=tabpanel] { flex: 1; min-height: 0; overflow: auto; }
table { width: 100%; border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: 3px 12px; text-align: start; white-space: nowrap; }
td { border-top: 1px solid var(--line); max-width: 44em; overflow: hidden; text-overflow: ellipsis; }
th { position: sticky; top: 0; background: var(--surface); color: var(--muted); font-weight: 500; }
th.number, td.number { text-align: end; }
tbody tr:hover { background: var(--raised); }
[data-tone=good] { color: var(--good); } [data-tone=warn] { color: var(--warn); } [data-tone=bad] { color: var(--bad); }
.none { margin: 0; padding: 10px 12px; color: var(--muted); }
.notes { margin: 0; padding: 0 12px 6px; color: var(--warn); position: sticky; left: 0; }
.notes:empty { padding: 0; }
button:disabled { color: var(--muted); cursor: default; }
select { min-width: 0; max-width: 100%; }
.tools { display: flex; flex-wrap: wrap; align-items: center; gap: 8px; padding: 6px 12px; position: sticky; left: 0; }
.tools span { color: var(--muted); }
[hidden] { display: none !important; }
`;
