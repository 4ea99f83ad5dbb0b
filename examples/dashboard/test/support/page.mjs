// The methods that tests use to operate the dashboard.

/** The time limit of every step, generous for a busy machine. */
const TIMEOUT = 120_000;

/** The default size of a page. */
export const VIEWPORT = { width: 1400, height: 800 };

/** Opens a page in a new browser context. */
export async function newPage(browser, context = {}) {
  const opened = await browser.newContext({ viewport: VIEWPORT, ...context });
  opened.setDefaultTimeout(TIMEOUT);
  return opened.newPage();
}

export class DashboardPage {
  /** Opens the dashboard in a new browser context. */
  static async open(browser, url, context = {}) {
    const dashboard = new DashboardPage(await newPage(browser, context));
    await dashboard.page.goto(url);
    return dashboard;
  }

  /** Records errors of the page in `problems` from now on. */
  constructor(page) {
    this.page = page;
    this.problems = [];
    page.on("pageerror", (error) => this.problems.push(error.stack));
    page.on("console", (message) => {
      if (message.type() === "error") this.problems.push(message.text());
    });
  }

  close() {
    return this.page.context().close();
  }

  get(testid) {
    return this.page.locator(`[data-testid=${testid}]`);
  }

  get rows() {
    return this.page.locator("[data-testid=rows] > [data-key]");
  }

  keys() {
    return this.rows.evaluateAll((rows) => rows.map((row) => row.dataset.key));
  }

  /** Returns the texts of the column with the given header, one per row. */
  column(title) {
    return this.page.evaluate((title) => {
      const headers = [...document.querySelectorAll("[role=columnheader]")];
      const index = headers.findIndex((header) => header.textContent === title);
      return [...document.querySelectorAll("[data-testid=rows] > [data-key]")].map((row) => row.children[index].textContent);
    }, title);
  }

  /** Waits until the table has rows, and the text of every row in the given column matches. */
  columnMatches(title, pattern) {
    return this.page.waitForFunction(([title, pattern]) => {
      const headers = [...document.querySelectorAll("[role=columnheader]")];
      const index = headers.findIndex((header) => header.textContent === title);
      const rows = [...document.querySelectorAll("[data-testid=rows] > [data-key]")];
      return index >= 0 && rows.length > 0 && rows.every((row) => new RegExp(pattern).test(row.children[index]?.textContent));
    }, [title, pattern.source], { timeout: TIMEOUT });
  }

  async total() {
    return Number(await this.get("range").getAttribute("data-total"));
  }

  /** Waits until the pill shows a state. */
  state(state, timeout = TIMEOUT) {
    return this.page.waitForSelector(`[data-testid=pill][data-state=${state}]`, { timeout });
  }

  /** Waits until the number of matching rows is `total`. */
  async hasTotal(total, timeout = TIMEOUT) {
    await this.page.waitForSelector(`[data-testid=range][data-total="${total}"]`, { timeout, state: "attached" });
    await this.frames();
  }

  /** Waits until the page has drawn pending changes. */
  frames() {
    return this.page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  }

  async scrollTo(top) {
    await this.get("grid").evaluate((grid, top) => { grid.scrollTop = top; }, top);
    await this.frames();
  }

  sortBy(column) {
    return this.page.locator(`[data-sort="${column}"]`).click();
  }

  /**
   * Returns all objects of the page's collection, as sorted "key@resourceVersion", for
   * comparison with a direct read.
   */
  objects() {
    return this.page.evaluate(async () => {
      const { items } = await watchglassDashboard.collection.list();
      return items.map(({ metadata: m }) => `${m.namespace ? `${m.namespace}/` : ""}${m.name}@${m.resourceVersion}`).sort();
    });
  }
}
