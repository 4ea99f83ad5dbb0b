import { messageOf } from "../errors.js";
import { clearPersisted } from "../persistence.js";
import { ownerNumber, readStates, sizeOf, type Stored } from "../persistence/database.js";
import { Reports, type Report, type Restore } from "../persistence/report.js";
import { create, setText, Table, type Cell } from "./dom.js";
import { age, bytes, options } from "./format.js";
import type { Panel, Shown } from "./panels.js";

/**
 * The minimum interval between two reads of the storage, in milliseconds. It is shorter than the
 * period of the inspector, so that each refresh reads the storage.
 */
const period = 900;

/** The contents of the browser's storage. */
interface Contents {
  states: readonly Stored[];
  /** The storage quota of the origin in bytes; 0 if the browser does not report it. */
  quota: number;
  usage: number;
  /** The owners whose states an open page uses. */
  owners: ReadonlySet<string>;
}

const nothing: Contents = { states: [], quota: 0, usage: 0, owners: new Set() };

async function readContents(): Promise<Contents> {
  const [states, { quota = 0, usage = 0 }, locks] = await Promise.all([readStates(), navigator.storage?.estimate() ?? {}, navigator.locks?.query()]);
  return { states, quota, usage, owners: new Set(states.map(({ owner }) => owner).filter((owner) => locks?.held?.some(({ name = "" }) => name.endsWith(owner)))) };
}

/** The panel with the states that are stored on the page's origin. */
export class PersistencePanel implements Panel {
  readonly name = "Persistence";
  readonly #changed: () => void;
  readonly #clear = create("button", { type: "button", disabled: "" }, "Delete all");
  readonly #sizes = create("span");
  readonly #notes = create("p", { class: "notes", role: "status" });
  readonly #table = new Table(
    "Stored states",
    [{ title: "Resource" }, { title: "Scope" }, { title: "Identity" }, { title: "Size", number: true }, { title: "Version", number: true }, { title: "Age", number: true }, { title: "Last restore" }],
    "No state is stored on this origin.",
  );
  readonly element = create("div", {}, create("div", { class: "tools" }, this.#clear, this.#sizes), this.#notes, this.#table.element);
  #reports: Reports | undefined;
  #contents = nothing;
  #readAt = 0;
  #failure = "";
  /** The outcome of the last deletion, shown until states are stored again. */
  #outcome = "";

  /** The function `changed` requests a call of {@link draw}. */
  constructor(changed: () => void) {
    this.#changed = changed;
    this.#clear.addEventListener("click", () => void this.#deleteAll());
  }

  count({ metrics: { engine } }: Shown): number {
    return this.#readAt > 0 ? this.#contents.states.length : (engine["persistence.collections"] ?? 0);
  }

  /**
   * Draws the stored states and the last restores. If the last read of the storage is older than
   * the period, starts another read. */
  draw(shown: Shown): void {
    if (shown.now - this.#readAt >= period) this.#read(shown.now);
    const reports = this.#reports?.all ?? [];
    const { states } = this.#contents;
    this.#clear.disabled = states.length === 0;
    setText(this.#sizes, this.#summary(reports));
    setText(this.#notes, this.#note(shown, reports));
    const restores = reports.flatMap(({ owner, restores }) => restores.map((restore) => ({ owner, restore })));
    const isStored = (owner: string, scope: string): boolean => states.some((stored) => stored.owner === owner && stored.scope === scope);
    const lost = restores.filter(({ owner, restore }) => restore.discarded !== undefined && !isStored(owner, restore.scope));
    this.#table.draw([
      ...states.map((stored) => {
        const { restore } = restores.find(({ owner, restore }) => owner === stored.owner && restore.scope === stored.scope) ?? {};
        return [...parts(stored.scope), this.#identity(shown, stored.owner), bytes(sizeOf(stored)), stored.position.resourceVersion, age(stored.time, shown.now), outcome(restore, shown.now)];
      }),
      ...lost.map(({ owner, restore }) => [...parts(restore.scope), this.#identity(shown, owner), "–", "–", "–", outcome(restore, shown.now)]),
    ]);
  }

  stop(): void {
    this.#reports?.close();
    this.#reports = undefined;
    this.#readAt = 0;
  }

  #read(now: number): void {
    this.#readAt = now;
    this.#reports ??= new Reports(this.#changed);
    this.#reports.request();
    readContents().then(
      (contents) => {
        if (contents.states.length > 0) this.#outcome = "";
        this.#contents = contents;
        this.#failure = "";
        this.#changed();
      },
      (error: unknown) => {
        this.#contents = nothing;
        this.#failure = `The browser's storage cannot be read: ${messageOf(error)}`;
        this.#changed();
      },
    );
  }

  async #deleteAll(): Promise<void> {
    this.#clear.disabled = true;
    try {
      await clearPersisted();
      this.#contents = nothing;
      this.#outcome = "All states were deleted. Open pages store nothing more until they are reloaded.";
    } catch (error) {
      this.#outcome = `The states cannot be deleted: ${messageOf(error)}`;
    }
    this.#changed();
  }

  #summary(reports: readonly Report[]): string {
    const { states, usage, quota } = this.#contents;
    const limit = Math.max(0, ...reports.map(({ maxBytes }) => maxBytes));
    const stored = `${states.length} ${states.length === 1 ? "state" : "states"}, ${bytes(states.reduce((sum, one) => sum + sizeOf(one), 0))}${limit > 0 ? ` of at most ${bytes(limit)}` : ""}`;
    return quota > 0 ? `${stored}; all data of this origin: ${bytes(usage)} of a quota of ${bytes(quota)}` : stored;
  }

  /** Returns a note with the outcome of the last deletion, or the reason why nothing is stored. */
  #note({ metrics: { engine } }: Shown, reports: readonly Report[]): string {
    const reasons = new Set(reports.flatMap(({ off }) => off ?? []));
    if (this.#failure) return this.#failure;
    if (this.#outcome) return this.#outcome;
    if (reasons.size > 0) return `No further states are stored: ${[...reasons].join("; ")}`;
    const answered = "collections" in engine;
    return answered && engine["persistence.off"] === undefined ? "This page stores nothing: its client has no persist option." : "";
  }

  #identity({ metrics: { engine } }: Shown, owner: string): Cell {
    const use = ownerNumber(owner) === engine["persistence.owner"] ? "this page" : this.#contents.owners.has(owner) ? "another page" : "not open";
    return `${owner.slice(0, 8)}, ${use}`;
  }
}

/**
 * Splits a scope, which is the JSON of its values, into the resource and the selectors. A scope
 * from another release is returned unparsed.
 */
function parts(scope: string): [resource: string, scope: string] {
  if (!scope.startsWith("[")) return [scope, ""];
  const [resource, namespace, labelSelector, fieldSelector, metadataOnly] = JSON.parse(scope) as [string, string, string, string, boolean];
  return [resource, options({ namespace, labelSelector, fieldSelector, metadataOnly })];
}

function outcome(restore: Restore | undefined, now: number): Cell {
  if (!restore) return "–";
  const when = `${age(restore.time, now)} ago`;
  return restore.discarded === undefined ? { text: `restored ${when}`, tone: "good" } : { text: `discarded ${when}: ${restore.discarded}`, tone: "bad" };
}
