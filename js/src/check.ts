// What a program without types may get wrong, found before it gets to the
// engine, where a frame that means nothing ends all that the program has open.
import { badRequest } from "./errors.js";
import type { CollectionOptions, Column, ConnectOptions, ListOptions, Selectors, WatchOptions } from "./types.js";
import { columnKinds } from "./wire/outputs.js";

/** A number that fits 32 bits, or a 400. */
export function uint32(name: string, value: number): number {
  if (Number.isInteger(value) && value >= 0 && value <= 0xffff_ffff) return value;
  throw badRequest(`${name} is ${value}, expected a whole number from 0 to 4294967295`);
}

/** Throws a 400 unless it is one of some words. */
function checkWord<T extends string>(name: string, value: T, words: readonly T[]): void {
  if (words.includes(value)) return;
  throw badRequest(`${name} is ${JSON.stringify(value)}, expected ${words.map((word) => JSON.stringify(word)).join(" or ")}`);
}

export function checkMatch(value: ListOptions["resourceVersionMatch"]): void {
  if (value !== undefined) checkWord("resourceVersionMatch", value, ["NotOlderThan", "Exact"]);
}

export function checkPolicy(value: WatchOptions["policy"]): void {
  if (value !== undefined) checkWord("policy", value, ["stall", "terminate", "conflate"]);
}

export function checkWorker(value: ConnectOptions["worker"]): void {
  if (value !== undefined) checkWord("worker", value, ["shared", "dedicated", "inline"]);
  if (value === "dedicated" && typeof Worker !== "function") throw badRequest('worker is "dedicated", and this platform has none: leave it out');
}

/** The columns that a collection is to have, whole, or a 400. */
export function columns(chosen: CollectionOptions["columns"] = []): readonly Column[] {
  return chosen.map(({ name, kind, path, priority = 0 }) => {
    if (!(uint32(`priority of column ${name}`, priority) <= 0xff)) throw badRequest(`priority of column ${name} is ${priority}, expected at most 255`);
    checkWord(`kind of column ${name}`, kind, columnKinds);
    return { name, kind, path, priority };
  });
}

/** Selectors as commands have them. */
export function selection({ namespace = "", labelSelector = "", fieldSelector = "" }: Selectors): Required<Selectors> {
  return { namespace, labelSelector, fieldSelector };
}
