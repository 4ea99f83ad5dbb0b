import type { Collection, ViewOptions } from "watchglass";
import type { TableColumn } from "./columns.ts";
import { button, byId, setText } from "./dom.ts";
import { type ExportFormat, MAX_ROWS, collectRows, writeFile } from "./export.ts";
import { count, resourceName } from "./format.ts";
import { Menu } from "./menu.ts";

/** The contents of the table to export. */
export interface Shown {
  collection: Collection;
  resource: string;
  query: ViewOptions;
  columns: readonly TableColumn[];
}

/**
 * A menu that exports the matching rows as a file. While an export runs, the page shows its
 * progress and a button that cancels it.
 */
export class Exporter {
  readonly #menu = new Menu("Export", "export");
  readonly #box = byId("exporting");
  readonly #text = byId("export-text");
  readonly #progress = byId<HTMLProgressElement>("export-progress");
  readonly #result = byId("export-result");
  readonly #shown: () => Shown | undefined;
  #running: AbortController | undefined;

  constructor(shown: () => Shown | undefined) {
    this.#shown = shown;
    const line = (text: string, format: ExportFormat) => button("menu-line", text, () => {
      this.#menu.close();
      void this.#run(format);
    });
    this.#menu.list.append(line("CSV, for spreadsheets", "csv"), line("JSON", "json"));
    this.#menu.setNote(`All matching rows with the shown columns, at most ${count(MAX_ROWS)} rows.`);
    byId("tools").append(this.#menu.element);
    byId("export-cancel").addEventListener("click", () => this.cancel());
  }

  set hidden(hidden: boolean) {
    this.#menu.element.hidden = hidden;
  }

  /** Cancels a running export. The browser then downloads no file. */
  cancel(): void {
    this.#running?.abort(new Error("cancelled"));
    setText(this.#result, "");
  }

  async #run(format: ExportFormat): Promise<void> {
    const shown = this.#shown();
    this.cancel();
    if (!shown) return setText(this.#result, "There are no rows yet");
    const running = (this.#running = new AbortController());
    this.#box.hidden = false;
    this.#draw(0, 0);
    const result = await this.#save(shown, format, running.signal).catch((error: Error) => {
      return running.signal.aborted ? "Export cancelled" : `Not exported: ${error.message}`;
    });
    if (running !== this.#running) return; // another export has started
    this.#running = undefined;
    this.#box.hidden = true;
    setText(this.#result, result);
  }

  /** Exports the rows to a file and downloads it. Returns the message for the user. */
  async #save({ collection, resource, query, columns }: Shown, format: ExportFormat, signal: AbortSignal): Promise<string> {
    const { rows, total } = await collectRows(collection, query, signal, (done, all) => this.#draw(done, all));
    const file = await writeFile(format, columns, rows, signal);
    const name = resourceName(resource);
    download(file, `${name}-${new Date().toISOString().slice(0, 19).replaceAll(":", "")}.${format}`);
    return total > MAX_ROWS ? `Exported the first ${count(rows.length)} of ${count(total)} ${name}` : `Exported ${count(rows.length)} ${name}`;
  }

  #draw(rows: number, total: number): void {
    setText(this.#text, total ? `Exporting ${count(rows)} of ${count(total)}` : "Exporting");
    this.#progress.max = total || 1;
    this.#progress.value = rows;
  }
}

function download(file: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(file);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000); // the browser may still read the file
}
