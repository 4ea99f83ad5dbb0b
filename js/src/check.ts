// Checks arguments that untyped programs may pass incorrectly. The engine cannot report these
// errors, because an invalid frame makes the engine close everything that the program has open.
import { badRequest, type WatchglassError } from "./errors.js";
import type { CollectionOptions, Column, ConnectOptions, ListOptions, Selectors } from "./types.js";
import { columnKinds } from "./wire/outputs.js";

/** Returns the value if it is a whole number from 0 to `max`. Throws a 400 otherwise. */
export function uint32(name: string, value: number, max = 0xffff_ffff): number {
  if (Number.isInteger(value) && value >= 0 && value <= max) return value;
  throw wrongType(name, value, `a whole number from 0 to ${max}`);
}

/** Returns the error for an argument of the wrong type. */
export function wrongType(name: string, value: unknown, expected: string): WatchglassError {
  const shown = typeof value === "object" || typeof value === "string" ? JSON.stringify(value) : String(value);
  return badRequest(`${name} is ${shown}, expected ${expected}`);
}

/** Returns the value if it is a string. Throws a 400 otherwise. */
export function text(name: string, value: string): string {
  if (typeof value === "string") return value;
  throw wrongType(name, value, "a string");
}

/** Throws a 400 unless the value is one of the given words. */
export function checkWord<T extends string>(name: string, value: T, words: readonly T[]): void {
  if (words.includes(value)) return;
  throw wrongType(name, value, words.map((word) => JSON.stringify(word)).join(" or "));
}

export function checkMatch(value: ListOptions["resourceVersionMatch"]): void {
  checkWord("resourceVersionMatch", value ?? "Exact", ["NotOlderThan", "Exact"]);
}

export function checkWorker(value: ConnectOptions["worker"]): void {
  checkWord("worker", value ?? "shared", ["shared", "dedicated", "inline"]);
  if (value === "dedicated" && typeof Worker !== "function") throw badRequest('worker is "dedicated", and this platform has no dedicated workers: omit the option');
}

/**
 * Returns the chosen columns with defaults for omitted properties. Throws a 400 for invalid
 * columns.
 */
export function columns(chosen: CollectionOptions["columns"] = []): readonly Column[] {
  return chosen.map(({ name, kind, path, priority = 0, printer = "", default: missing = "" }) => {
    uint32(`priority of column ${name}`, priority, 0xff);
    checkWord(`kind of column ${name}`, kind, columnKinds);
    return { name, kind, path, priority, printer, default: missing };
  });
}

/**
 * Returns the selectors for a command, with "" for omitted selectors. Throws a 400 if a selector is
 * not a string.
 */
export const selection = (options: Selectors): Required<Selectors> => textOptions(options, "namespace", "labelSelector", "fieldSelector");

/**
 * Returns the named options, with "" for omitted options. Throws a 400 if an option is not a
 * string.
 */
export function textOptions<Name extends string>(options: { readonly [name in Name]?: string }, ...names: Name[]): Record<Name, string> {
  return Object.fromEntries(names.map((name) => {
    const { [name]: value = "" } = options;
    return [name, text(name, value)];
  })) as Record<Name, string>;
}
