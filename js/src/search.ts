/** The entry `watchglass/search`, which finds the words of a search in text that the page shows. */
import type { ViewOptions } from "./types.js";

/** A match, as indices in the text. The character at `end` is not part of the match. */
export type MatchRange = readonly [start: number, end: number];

/**
 * Returns a function that finds the words of a {@link ViewOptions.search} in a text, for
 * highlighting. The ranges that the function returns are sorted and do not overlap. To highlight a
 * label, pass it as `key=value`.
 */
export function highlighter(search: string): (text: string) => MatchRange[] {
  const { words } = splitSearch(search);
  return (text) => {
    const folded = lower(text);
    const ranges = words.flatMap((word) => occurrences(folded, word)).sort(([a], [b]) => a - b);
    const merged: [number, number][] = [];
    for (const [start, end] of ranges) {
      const last = merged.at(-1);
      if (last && start <= last[1]) last[1] = Math.max(last[1], end);
      else merged.push([start, end]);
    }
    return merged;
  };
}

function occurrences(text: string, word: string): MatchRange[] {
  const found: MatchRange[] = [];
  for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + 1)) found.push([at, at + word.length]);
  return found;
}

/**
 * Splits a search into words to find and words to exclude, as the engine does. An unclosed quote
 * extends to the end of the text.
 */
export function splitSearch(search: string): { words: string[]; excluded: string[] } {
  const words: string[] = [];
  const excluded: string[] = [];
  for (const [, minus, quotedWord] of search.matchAll(/(-(?=[^ \t\n\r]))?((?:"[^"]*(?:"|$)|[^" \t\n\r])+)/g)) {
    const word = lower(quotedWord!.replaceAll('"', ""));
    if (word) (minus ? excluded : words).push(word);
  }
  return { words, excluded };
}

/**
 * Converts ASCII letters to lower case, as the engine does. Other letters are not converted,
 * because some change their length, which would shift the ranges.
 */
function lower(text: string): string {
  return text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}
