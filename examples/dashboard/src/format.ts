import type { Column, Row } from "watchglass";

const SECOND = 1000, MINUTE = 60 * SECOND, HOUR = 60 * MINUTE, DAY = 24 * HOUR, YEAR = 365 * DAY;

/**
 * Formats an age as kubectl does: with two units such as "3m5s" if the smaller unit is significant,
 * and otherwise with one.
 */
export function age(millis: number): string {
  const ms = Math.max(0, millis);
  if (ms < 2 * MINUTE) return `${Math.floor(ms / SECOND)}s`;
  if (ms < 10 * MINUTE) return units(ms, MINUTE, "m", SECOND, "s");
  if (ms < 3 * HOUR) return `${Math.floor(ms / MINUTE)}m`;
  if (ms < 8 * HOUR) return units(ms, HOUR, "h", MINUTE, "m");
  if (ms < 2 * DAY) return `${Math.floor(ms / HOUR)}h`;
  if (ms < 8 * DAY) return units(ms, DAY, "d", HOUR, "h");
  if (ms < 2 * YEAR) return `${Math.floor(ms / DAY)}d`;
  if (ms < 8 * YEAR) return units(ms, YEAR, "y", DAY, "d");
  return `${Math.floor(ms / YEAR)}y`;
}

function units(ms: number, large: number, largeName: string, small: number, smallName: string): string {
  const rest = Math.floor((ms % large) / small);
  return `${Math.floor(ms / large)}${largeName}${rest ? `${rest}${smallName}` : ""}`;
}

const numbers = new Intl.NumberFormat("en");

/** Formats a number with thousands separators. */
export function count(n: number): string {
  return numbers.format(n);
}

/**
 * Formats the cell of a row as kubectl does. A count or a text with a time is shown as "3 (5m ago)",
 * an empty text with a time as "5m ago" or "in 5m", and a missing value as the column's default.
 */
export function rowText(column: Column, row: Row, index: number, now: number): string {
  const cell = row.columns[index] ?? null;
  const time = row.times[index];
  if (cell === null || (cell === "" && time === undefined)) return column.default;
  if (typeof cell === "number" && (column.kind === "date" || column.kind === "duration")) return durationText(column, cell, now);
  if (time === undefined) return String(cell);
  if (cell === "") return time > now ? `in ${age(time - now)}` : `${age(now - time)} ago`;
  return `${cell} (${age(now - time)} ago)`;
}

/**
 * The maximum duration in milliseconds. A larger value is a point in time, such as the start of a
 * job that is still running.
 */
const LONGEST = 20 * YEAR;

function durationText(column: Column, cell: number, now: number): string {
  return age(column.kind === "date" || cell > LONGEST ? now - cell : cell);
}

/** Formats the reason of a Kubernetes Status as words, for example "NotFound" as "Not found". */
export function words(reason: string): string {
  return reason.replace(/([a-z])([A-Z])/g, (_, end: string, start: string) => `${end} ${start.toLowerCase()}`);
}

/** Returns the name in a resource such as "group/version/name". */
export function resourceName(resource: string): string {
  return resource.slice(resource.lastIndexOf("/") + 1);
}
