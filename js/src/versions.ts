import type { ResourceVersion } from "./types.js";

/**
 * Returns a negative number if the first resource version is older, zero if both are equal, and a
 * positive number if the first is newer. Only versions of the same cluster are comparable. Throws a
 * TypeError if an argument is not a resource version.
 */
export function compareResourceVersions(a: ResourceVersion, b: ResourceVersion): number {
  for (const version of [a, b]) if (!/^(0|[1-9]\d*)$/.test(version)) throw new TypeError(`"${version}" is not a resource version; expected a decimal number such as "1042"`);
  if (a.length !== b.length) return a.length - b.length;
  return a < b ? -1 : a > b ? 1 : 0;
}
