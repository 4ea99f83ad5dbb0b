import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const require = createRequire(new URL("../../../../js/package.json", import.meta.url));
const source = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

/** Returns the violations of axe's accessibility rules on a page, each with its elements. */
export async function violations(page) {
  await page.evaluate(source);
  return page.evaluate(async () => {
    const { violations } = await axe.run({ resultTypes: ["violations"] });
    return violations.map(({ id, help, nodes }) => `${id}: ${help}: ${nodes.map(({ html }) => html.slice(0, 200)).join("\n")}`);
  });
}
