import type { Collection, Row, View, ViewOptions } from "watchglass";
import type { TableColumn } from "./columns.ts";
import { rowText } from "./format.ts";

export type ExportFormat = "csv" | "json";

/** The maximum number of rows of an export. The page keeps all exported rows in memory. */
export const MAX_ROWS = 50_000;

/** The maximum number of rows in the window of one view. The engine imposes this limit. */
const WINDOW = 10_000;

/** The number of rows by which a window grows, so that no message is large. */
const STEP = 2000;

/** The number of rows that are written before each pause. Pauses keep the page responsive. */
const PART = 1000;

export interface Exported {
  rows: Row[];
  /**
   * The number of matching rows. It is greater than the number of exported rows if the bound was
   * reached.
   */
  total: number;
}

/**
 * Reads all rows of a query, up to a bound. It reads windows of 10,000 rows, and each window shows
 * one state of the collection. A row that moves between windows is exported once or not at all.
 * Rejects with the signal's reason when the signal is aborted.
 */
export async function collectRows(
  collection: Collection, query: ViewOptions, signal: AbortSignal, onProgress: (rows: number, total: number) => void, bound = MAX_ROWS,
): Promise<Exported> {
  const views: View[] = [];
  const rows = () => views.flatMap(({ snapshot }) => snapshot.rows);
  try {
    let total = 1; // until the first window reports the actual total
    for (let offset = 0; offset < Math.min(total, bound); offset += WINDOW) {
      const last = Math.min(WINDOW, bound - offset);
      const view = collection.view({ ...query, facets: [], offset, limit: Math.min(STEP, last) });
      views.push(view);
      for (let limit = STEP; ; limit += STEP) {
        await filled(view, offset, Math.min(limit, last), signal);
        total = view.snapshot.total;
        onProgress(views.reduce((sum, { snapshot }) => sum + snapshot.rows.length, 0), Math.min(total, bound));
        if (limit >= last || offset + limit >= total) break;
        view.move(offset, Math.min(limit + STEP, last));
      }
    }
    return { rows: [...new Map(rows().map((row) => [row.key, row])).values()], total };
  } finally {
    for (const view of views) view.close();
  }
}

/**
 * Waits until a view contains all rows of its window. Rejects if the view fails or the signal is
 * aborted.
 */
function filled(view: View, offset: number, limit: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = (settle: () => void) => {
      unsubscribe();
      signal.removeEventListener("abort", check);
      settle();
    };
    const check = () => {
      const { state, error, snapshot } = view;
      if (signal.aborted) end(() => reject(signal.reason));
      else if (state === "error" || state === "closed") end(() => reject(new Error(error?.message ?? "the table was closed")));
      else if (state === "ready" && snapshot.rows.length >= Math.min(limit, snapshot.total - offset)) end(resolve);
    };
    const unsubscribe = view.subscribe(check);
    signal.addEventListener("abort", check);
    check();
  });
}

/** Writes a file in parts. The pauses between the parts keep the page responsive. */
export async function writeFile(format: ExportFormat, columns: readonly TableColumn[], rows: readonly Row[], signal: AbortSignal): Promise<Blob> {
  const now = Date.now();
  const parts = [format === "csv" ? csvLine(columns.map(({ title }) => title)) : "["];
  for (let at = 0; at < rows.length; at += PART) {
    signal.throwIfAborted();
    const some = rows.slice(at, at + PART).map((row) => columns.map((column) => exportValue(column, row, now)));
    if (format === "csv") parts.push(...some.map(csvLine));
    else parts.push(`${at ? "," : ""}\n${some.map((values) => jsonObject(columns, values)).join(",\n")}`);
    await new Promise((resolve) => setTimeout(resolve));
  }
  if (format === "json") parts.push("\n]\n");
  return new Blob(parts, { type: format === "csv" ? "text/csv" : "application/json" });
}

/** A cell of the file. */
export type ExportValue = string | number | boolean | null | Readonly<Record<string, string>>;

/**
 * Returns the value of a cell. An age is exported as a time, because ages in a file would soon be
 * wrong. A count of events and a text are exported without their times. A text that is only a time
 * is exported as that time.
 */
export function exportValue({ kind, own, value }: TableColumn, row: Row, now: number): ExportValue {
  if (kind === "labels") return row.labels;
  const cell = value(row);
  if (!own || cell === null) return cell;
  const time = row.times[own.index];
  if (cell === "" && time !== undefined) return new Date(time).toISOString();
  if (own.column.kind === "date" && typeof cell === "number") return new Date(cell).toISOString();
  return own.column.kind === "duration" ? rowText(own.column, row, own.index, now) : cell;
}

function jsonObject(columns: readonly TableColumn[], values: readonly ExportValue[]): string {
  return JSON.stringify(Object.fromEntries(columns.map(({ title }, i) => [title, values[i]])));
}

/** Returns a line of CSV, as in RFC 4180. */
export function csvLine(values: readonly ExportValue[]): string {
  return `${values.map(csvField).join(",")}\r\n`;
}

/**
 * Matches a string that a spreadsheet would interpret as a formula. The first character of the
 * formula may follow spaces or be a full-width form.
 */
const FORMULA = /^[\s\0]*[=+\-@\uff1d\uff0b\uff0d\uff20]|^[\t\r\n]/;

/**
 * Formats a field of CSV. Strings are quoted. An apostrophe before a string that looks like a
 * formula prevents spreadsheets from evaluating it.
 */
function csvField(value: ExportValue): string {
  if (value === null) return "";
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  const text = typeof value === "string" ? value : Object.entries(value).map(([key, label]) => `${key}=${label}`).join(",");
  return `"${(FORMULA.test(text) ? `'${text}` : text).replaceAll('"', '""')}"`;
}
