import { create, setAttribute, setText } from "./dom.ts";
import { count } from "./format.ts";

/** One bar of a chart. */
export interface Bar {
  /** Identifies the bar across updates. */
  id: string;
  label: string;
  value: number;
  /** The status that determines the color; undefined for none. */
  status?: string | undefined;
  /**
   * The link to the objects that the bar counts. Undefined if no page shows exactly these objects.
   */
  href?: string | undefined;
}

/** The minimum width of a bar in percent, so that a bar for few objects is visible. */
const MIN_WIDTH = 1.5;

const SVG = "http://www.w3.org/2000/svg";

/** The elements of a drawn bar. */
interface Drawn {
  item: HTMLElement;
  box: HTMLElement;
  label: HTMLElement;
  fill: SVGElement;
  value: HTMLElement;
}

/**
 * A bar chart. Each bar is a link that contains the label and the value as text. A bar keeps its
 * element across updates, so an update does not move the focus.
 */
export class BarChart {
  readonly element = create("ul", "bars");
  #drawn = new Map<string, Drawn>();

  constructor(label: string) {
    this.element.setAttribute("aria-label", label);
  }

  /** Draws the bars in the given order. The width of a bar is the share of its value in `total`. */
  draw(bars: readonly Bar[], total: number): void {
    const ids = new Set(bars.map(({ id }) => id));
    for (const [id, { item }] of this.#drawn) {
      if (ids.has(id)) continue;
      item.remove();
      this.#drawn.delete(id);
    }
    this.element.hidden = bars.length === 0;
    bars.forEach((bar, i) => {
      const drawn = this.#drawn.get(bar.id) ?? this.#add(bar);
      const place = this.element.children[i];
      if (place !== drawn.item) this.element.insertBefore(drawn.item, place ?? null);
      setText(drawn.label, bar.label);
      setText(drawn.value, count(bar.value));
      setAttribute(drawn.box, "title", bar.label); // the label may be truncated
      drawn.fill.setAttribute("width", bar.value && total ? Math.max(MIN_WIDTH, (100 * bar.value) / total).toFixed(2) : "0");
      if (bar.href) setAttribute(drawn.box, "href", bar.href);
    });
  }

  #add(bar: Bar): Drawn {
    const item = create("li", "");
    const box = create(bar.href ? "a" : "span", "bar");
    if (bar.status !== undefined) box.dataset.status = bar.status;
    box.dataset.bar = bar.id;
    const [label, value] = [create("span", "bar-label"), create("span", "bar-value")];
    const svg = shape("svg", { viewBox: "0 0 100 8", preserveAspectRatio: "none", "aria-hidden": "true" });
    const fill = shape("rect", { class: "bar-fill", height: "8", width: "0" });
    svg.append(shape("rect", { class: "bar-track", height: "8", width: "100" }), fill);
    box.append(label, " ", svg, value);
    item.append(box);
    const drawn = { item, box, label, fill, value };
    this.#drawn.set(bar.id, drawn);
    return drawn;
  }
}

function shape(name: string, attributes: Record<string, string>): SVGElement {
  const element = document.createElementNS(SVG, name) as SVGElement;
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
}
