import type { Collection, Row, Watchglass } from "watchglass";
import { type OwnerTree, type TreeNode, type TreeSnapshot, ownerTree } from "watchglass/tree";
import { byId, create, setAttribute, setText } from "./dom.ts";
import { count, resourceName, words } from "./format.ts";
import { type Line, conditionOf, descendants, ownedResources, podStates, visibleLines } from "./owned.ts";
import { objectLink } from "./relations.ts";

/** The maximum number of objects of each resource that the tree contains. */
const LIMIT = 1000;

/** A resource whose objects may be in the tree. */
interface Source {
  resource: string;
  collection: Collection;
}

interface Item {
  element: HTMLAnchorElement;
  /** The contents that the element shows, as JSON, to detect changes. */
  drawn: string;
}

/** A part of the text of an item. */
interface Part {
  name: string;
  text: string;
  /** The status that determines the color of the part's dot. */
  status?: string;
}

/** Shows the objects that the open object owns, directly or indirectly, as a tree. */
export class OwnedTree {
  readonly #box = byId("detail-tree");
  readonly #list = byId("tree-items");
  readonly #note = byId("tree-note");
  readonly #count = byId("tree-count");
  readonly #connection: Watchglass;
  readonly #onChange: () => void;
  /** The resource of the root, followed by the resources that are opened for the tree. */
  #sources: readonly Source[] = [];
  #tree: OwnerTree | undefined;
  #uid = "";
  #isComplete = false;
  #drawn: TreeSnapshot | undefined;
  #lines: readonly Line[] = [];
  #items = new Map<string, Item>();
  /** The nodes that the user expanded (true) or collapsed (false), by UID. */
  #toggled = new Map<string, boolean>();
  /** The UID of the node that receives the focus when the user tabs into the tree. */
  #active = "";

  constructor(connection: Watchglass, onChange: () => void) {
    this.#connection = connection;
    this.#onChange = onChange;
    this.#list.addEventListener("keydown", (event) => this.#onKey(event));
    this.#list.addEventListener("click", (event) => this.#onClick(event));
    this.#list.addEventListener("focusin", (event) => this.#activate(uidOf(event.target)));
  }

  /** Shows the tree below an object, unless this tree is already shown. */
  open(collection: Collection, resource: string, row: Row): void {
    if (row.uid === this.#uid) return;
    this.close();
    this.#uid = this.#active = row.uid;
    const owned = ownedResources(resource);
    if (owned.length === 0) return;
    this.#box.hidden = false;
    const { namespace } = row; // an owner is in the namespace of its objects, or is cluster-scoped
    this.#sources = [
      { resource, collection },
      ...owned.map((name) => ({ resource: name, collection: this.#connection.collection(name, { namespace, metadataOnly: true }) })),
    ];
    for (const { collection } of this.#sources.slice(1)) collection.synced.catch(() => {}); // the tree's errors contain the reason
    const tree = ownerTree(this.#sources.map(({ collection }) => collection), row.uid, { limit: LIMIT });
    this.#tree = tree;
    tree.subscribe(this.#onChange);
    void tree.ready.then(() => {
      if (tree !== this.#tree) return;
      this.#isComplete = true;
      this.#onChange();
    });
  }

  close(): void {
    this.#tree?.close();
    for (const { collection } of this.#sources.slice(1)) collection.close();
    this.#tree = this.#drawn = undefined;
    this.#sources = this.#lines = [];
    this.#isComplete = false;
    this.#toggled.clear();
    this.#uid = this.#active = "";
    this.#items.clear();
    this.#list.replaceChildren();
    this.#box.hidden = true;
  }

  draw(): void {
    if (!this.#tree) return;
    const { snapshot } = this.#tree;
    if (snapshot !== this.#drawn) this.#drawLines(snapshot);
    setText(this.#note, this.#noteText(snapshot));
    this.#note.hidden = !this.#note.textContent;
  }

  #drawLines(snapshot: TreeSnapshot): void {
    this.#drawn = snapshot;
    const below = descendants(snapshot.root);
    setText(this.#count, below ? count(below) : "");
    this.#list.hidden = below === 0;
    this.#lines = below ? visibleLines(snapshot.root, this.#toggled) : [];
    if (!this.#lines.some(({ node }) => node.uid === this.#active)) this.#active = this.#uid;
    const hadFocus = this.#list.contains(document.activeElement);
    const items = new Map<string, Item>();
    let next = this.#list.firstElementChild;
    for (const line of this.#lines) {
      const item = this.#items.get(line.node.uid) ?? newItem(line.node.uid);
      items.set(line.node.uid, item);
      this.#drawLine(item, line);
      if (item.element === next) next = next.nextElementSibling;
      else this.#list.insertBefore(item.element, next);
    }
    for (const [uid, { element }] of this.#items) if (!items.has(uid)) element.remove();
    this.#items = items;
    // Moving or removing the focused element removes the focus, so the active item is focused
    // again.
    if (hadFocus && !this.#list.contains(document.activeElement)) items.get(this.#active)?.element.focus();
  }

  #drawLine(item: Item, { node, level, position, siblings, expanded }: Line): void {
    const { element } = item;
    setAttribute(element, "tabindex", node.uid === this.#active ? "0" : "-1");
    setAttribute(element, "aria-level", String(level));
    setAttribute(element, "aria-posinset", String(position));
    setAttribute(element, "aria-setsize", String(siblings));
    element.style.setProperty("--level", String(level - 1));
    if (expanded === undefined) element.removeAttribute("aria-expanded");
    else setAttribute(element, "aria-expanded", String(expanded));
    if (level === 1) setAttribute(element, "aria-current", "true");
    const parts = this.#partsOf(node);
    const drawn = JSON.stringify(parts);
    if (drawn === item.drawn) return;
    item.drawn = drawn;
    const elements = parts.filter(({ text }) => text).map(({ name, text, status }) => {
      const part = create("span", name, text);
      if (status !== undefined) part.dataset.status = status;
      return part;
    });
    element.replaceChildren(twist(), ...elements.flatMap((part) => [part, " "]));
    const { row, collection } = node;
    if (row) setAttribute(element, "href", objectLink(this.#resourceOf(collection), row.key));
    else element.removeAttribute("href");
  }

  /** Returns the kind, name and condition of an object, and the states of the pods below it. */
  #partsOf(node: TreeNode): Part[] {
    const { row, collection } = node;
    const pods = this.#sources.find(({ resource }) => resource === "v1/pods")?.collection;
    const states = pods ? podStates(node, pods) : [];
    const below = states.map(([status, pods]) => ({ name: "tree-pods", text: `${count(pods)} ${status}`, status }));
    if (!row) return [{ name: "tree-name", text: "Deleted" }, ...below];
    const { text, status } = conditionOf(row);
    return [
      { name: "tree-kind", text: collection?.schema?.kind ?? resourceName(this.#resourceOf(collection)) },
      { name: "tree-name", text: row.name },
      { name: "tree-state", text, status },
      ...below,
    ];
  }

  #resourceOf(collection: Collection | undefined): string {
    return this.#sources.find((source) => source.collection === collection)?.resource ?? "";
  }

  #noteText({ errors, truncated, root }: TreeSnapshot): string {
    const notes = errors.map(({ collection, error }) => {
      const name = resourceName(this.#resourceOf(collection));
      return error.code === 403 ? `You may not list ${name}. ${error.message}` : `${words(error.reason)}: ${error.message}`;
    });
    const behind = this.#sources.find(({ collection: { status, progress } }) => status.state !== "live" && !status.error && progress.lastProgress);
    if (!this.#isComplete) notes.push("Loading");
    else if (behind) notes.push(`As of ${new Date(behind.collection.progress.lastProgress).toLocaleTimeString()}`);
    else if (root.children.length === 0 && errors.length === 0) notes.push("None. New ones appear here by themselves.");
    if (truncated) notes.push(`Only the first ${count(LIMIT)} objects of each resource are shown and counted.`);
    return notes.join("\n");
  }

  /**
   * Handles the keys of the ARIA pattern for trees. The browser handles Enter by following the
   * link.
   */
  #onKey(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
    const at = this.#lines.findIndex(({ node }) => node.uid === uidOf(event.target));
    const line = this.#lines[at];
    if (!line) return;
    if (event.key === "ArrowDown") this.#focus(at + 1);
    else if (event.key === "ArrowUp") this.#focus(at - 1);
    else if (event.key === "Home") this.#focus(0);
    else if (event.key === "End") this.#focus(this.#lines.length - 1);
    else if (event.key === "ArrowRight" && line.expanded) this.#focus(at + 1);
    else if (event.key === "ArrowRight" && line.expanded === false) this.#toggle(line);
    else if (event.key === "ArrowLeft" && line.expanded) this.#toggle(line);
    else if (event.key === "ArrowLeft") this.#focus(this.#lines.map(({ level }) => level).lastIndexOf(line.level - 1, at));
    else return;
    event.preventDefault();
  }

  #onClick(event: MouseEvent): void {
    if (!(event.target as Element).closest(".twist")) return;
    event.preventDefault();
    const line = this.#lines.find(({ node }) => node.uid === uidOf(event.target));
    if (line && line.expanded !== undefined) this.#toggle(line);
  }

  #focus(index: number): void {
    const line = this.#lines[index];
    if (line) this.#items.get(line.node.uid)?.element.focus();
  }

  #toggle({ node: { uid }, expanded }: Line): void {
    this.#toggled.set(uid, !expanded);
    this.#drawn = undefined;
    this.#onChange();
  }

  #activate(uid: string): void {
    this.#items.get(this.#active)?.element.setAttribute("tabindex", "-1");
    this.#active = uid;
    this.#items.get(uid)?.element.setAttribute("tabindex", "0");
  }
}

/** Returns the element of a node, which is also the link to the object. */
function newItem(uid: string): Item {
  const element = create("a", "tree-item") as HTMLAnchorElement;
  element.setAttribute("role", "treeitem");
  element.dataset.uid = uid;
  return { element, drawn: "" };
}

/**
 * Returns the control that expands or collapses a node when it is clicked. The control is hidden
 * from assistive technology, which expands a node through its item.
 */
function twist(): HTMLElement {
  const element = create("span", "twist");
  element.setAttribute("aria-hidden", "true");
  return element;
}

function uidOf(target: EventTarget | null): string {
  return (target as Element | null)?.closest<HTMLElement>(".tree-item")?.dataset.uid ?? "";
}
