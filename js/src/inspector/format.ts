import type { Opened, State, Status } from "../types.js";
import type { Tone } from "./dom.js";

export function bytes(n: number): string {
  if (n < 1000) return `${n} B`;
  const power = Math.min(3, Math.floor(Math.log10(n) / 3));
  const value = n / 1000 ** power;
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ${["kB", "MB", "GB"][power - 1]}`;
}

/**
 * Formats the age of the time `then`, in milliseconds since the epoch. Returns "–" for zero, which
 * means never.
 */
export function age(then: number, now: number): string {
  if (then === 0) return "–";
  const seconds = Math.max(0, now - then) / 1000;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 120) return `${Math.round(seconds)} s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`;
  return seconds < 172_800 ? `${Math.round(seconds / 3600)} h` : `${Math.round(seconds / 86_400)} d`;
}

const tones: Partial<Record<State, Tone>> = { live: "good", connecting: "", syncing: "", closed: "", forbidden: "bad" };

export const state = (text: State): { text: string; tone: Tone } => ({ text, tone: tones[text] ?? "warn" });

/** Formats a number that is normally zero, with a warning color if the number is positive. */
export const alarm = (n: number): { text: string; tone: Tone } => ({ text: n.toLocaleString("en-US"), tone: n > 0 ? "warn" : "" });

export const failure = (status: Status | undefined): { text: string; tone: Tone } => ({ text: status ? `${status.code} ${status.message}` : "", tone: "bad" });

/**
 * Formats the options that differ from their defaults, as "name=value, name=value". A column is
 * formatted as its name.
 */
export function options(all: object): string {
  return Object.entries(all)
    .filter(([name, value]) => value !== undefined && value !== "" && value !== false && value?.length !== 0 && name !== "signal" && name !== "restore")
    .map(([name, value]) => (value === true ? name : `${name}=${Array.isArray(value) ? value.map(optionText).join(",") : optionText(value)}`))
    .join(", ");
}

function optionText(value: any): string {
  return typeof value === "object" ? value.name ?? JSON.stringify(value) : String(value);
}

/** Formats the positions of the first and last row of a view's window, such as "1–50". */
export function windowOf({ options: { offset = 0 }, rows }: Opened & { type: "view" }): string {
  return rows === 0 ? "empty" : `${offset + 1}–${offset + rows}`;
}
