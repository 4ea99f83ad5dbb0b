import type { Collection, KubeObject, Row, Watchglass } from "watchglass";
import { byId, create, setAttribute, setText } from "./dom.ts";
import { ObjectEvents } from "./events.ts";
import { schedule } from "./frame.ts";
import { jsonLines } from "./json.ts";
import { LineView } from "./lines.ts";
import { Owners } from "./owners.ts";
import { LiveView } from "./query.ts";
import { relatedLinks } from "./relations.ts";
import { escapeValue } from "./selectors.ts";
import { OwnedTree } from "./tree.ts";
import { yamlLines } from "./yaml.ts";

type Format = "yaml" | "json";

/**
 * The panel beside the table. It shows one complete object with its owners, the objects that it
 * owns, and its events. While the panel is open, it shows every change to the object.
 */
export class Detail {
  readonly #panel = byId("detail");
  readonly #note = byId("detail-note");
  readonly #lines = new LineView(byId("detail-body"));
  readonly #draw = () => this.#render();
  readonly #events: ObjectEvents;
  readonly #owners: Owners;
  readonly #tree: OwnedTree;
  #format: Format = "yaml";
  #collection: Collection | undefined;
  #resource = "";
  #view: LiveView | undefined;
  #key = "";
  #object: KubeObject | undefined;
  #drawnUid = "";
  #drawnObject: KubeObject | undefined;
  #fetching = false;
  #error = "";

  constructor(connection: Watchglass, onClose: () => void) {
    this.#events = new ObjectEvents(connection, () => schedule(this.#draw));
    this.#owners = new Owners(connection, () => schedule(this.#draw));
    this.#tree = new OwnedTree(connection, () => schedule(this.#draw));
    byId("detail-close").addEventListener("click", onClose);
    byId("detail-copy").addEventListener("click", () => void this.#copy());
    byId("detail-yaml").addEventListener("click", () => this.#show("yaml"));
    byId("detail-json").addEventListener("click", () => this.#show("json"));
  }

  get key(): string {
    return this.#key;
  }

  open(collection: Collection, resource: string, key: string): void {
    if (key === this.#key && collection === this.#collection) return this.#panel.focus();
    this.close();
    this.#collection = collection;
    this.#resource = resource;
    this.#key = key;
    this.#panel.hidden = false;
    setText(byId("detail-title"), key);
    setText(byId("detail-kind"), collection.schema?.kind ?? "");
    this.#view = new LiveView(collection, () => this.#follow());
    this.#view.apply(only(key)).catch((error: Error) => this.#fail(error));
    schedule(this.#draw);
    this.#panel.focus();
  }

  close(): void {
    this.#view?.close();
    this.#view = undefined;
    this.#object = undefined;
    this.#key = this.#drawnUid = this.#error = "";
    this.#drawnObject = undefined;
    this.#lines.replace([]);
    this.#events.close();
    this.#owners.close();
    this.#tree.close();
    this.#drawLinks();
    this.#panel.hidden = true;
  }

  /** Updates the ages of events. Call it once per second. */
  tick(): void {
    schedule(this.#draw);
  }

  /** The object's own row, from a live view of that object. */
  get #row(): Row | undefined {
    return this.#view?.snapshot?.rows[0];
  }

  /**
   * Fetches the object whenever its row is newer than the shown version. Only one fetch
   * runs at a time.
   */
  #follow(): void {
    schedule(this.#draw);
    const row = this.#row;
    if (row) {
      this.#events.open(this.#collection!.schema?.kind ?? "", row);
      this.#tree.open(this.#collection!, this.#resource, row);
    }
    if (!row || this.#fetching || row.resourceVersion === this.#object?.metadata.resourceVersion) return;
    this.#fetching = true;
    void this.#fetch(this.#collection!, row);
  }

  async #fetch(collection: Collection, row: Row): Promise<void> {
    let failure = "";
    let object: KubeObject | undefined;
    try {
      object = await collection.get(row.key);
    } catch (error) {
      failure = (error as Error).message;
    }
    this.#fetching = false;
    if (row.key !== this.#key || collection !== this.#collection) return this.#follow(); // another object was opened meanwhile
    this.#error = failure;
    this.#object = object ?? this.#object;
    if (object) this.#owners.open(object);
    schedule(this.#draw);
    const now = this.#row;
    if (now && now.resourceVersion !== row.resourceVersion) this.#follow();
  }

  #fail(error: Error): void {
    this.#error = error.message;
    schedule(this.#draw);
  }

  #render(): void {
    if (!this.#view) return;
    const deleted = this.#view.snapshot !== undefined && !this.#row;
    setAttribute(this.#panel, "data-deleted", String(deleted));
    setText(this.#note, this.#noteText(deleted));
    this.#events.draw(Date.now());
    this.#owners.draw();
    this.#tree.draw();
    if (!this.#object || this.#object === this.#drawnObject) return;
    this.#drawnObject = this.#object;
    this.#drawLinks();
    const lines = this.#format === "yaml" ? yamlLines(this.#object) : jsonLines(this.#object);
    const { uid, resourceVersion } = this.#object.metadata;
    if (uid === this.#drawnUid) this.#lines.update(lines);
    else this.#lines.replace(lines);
    this.#drawnUid = uid;
    setAttribute(this.#panel, "data-rv", resourceVersion);
  }

  #drawLinks(): void {
    const links = this.#object ? relatedLinks(this.#resource, this.#object) : [];
    const list = byId("detail-links");
    list.hidden = links.length === 0;
    list.replaceChildren(...links.map(({ text, href }) => {
      const item = create("li", "");
      const link = create("a", "", text) as HTMLAnchorElement;
      link.href = href;
      item.append(link);
      return item;
    }));
  }

  #noteText(deleted: boolean): string {
    if (deleted) return this.#object ? "Deleted. This is how it was last." : "There is no such object.";
    if (this.#error) return this.#error;
    return this.#object ? `Resource version ${this.#object.metadata.resourceVersion}` : "Loading";
  }

  #show(format: Format): void {
    this.#format = format;
    this.#drawnObject = undefined;
    this.#drawnUid = ""; // replaces all lines, instead of highlighting those that differ
    setAttribute(byId("detail-yaml"), "aria-pressed", String(format === "yaml"));
    setAttribute(byId("detail-json"), "aria-pressed", String(format === "json"));
    schedule(this.#draw);
  }

  async #copy(): Promise<void> {
    const button = byId("detail-copy");
    try {
      await navigator.clipboard.writeText(this.#lines.text);
      setText(button, "Copied");
    } catch {
      setText(button, "Not allowed");
    }
    setTimeout(() => setText(button, "Copy"), 1500);
  }
}

/** Returns the query whose only row is the object with this key. */
function only(key: string) {
  const slash = key.indexOf("/");
  const fieldSelector = `metadata.name=${escapeValue(key.slice(slash + 1))}`;
  return slash < 0 ? { fieldSelector, limit: 1 } : { namespace: key.slice(0, slash), fieldSelector, limit: 1 };
}
