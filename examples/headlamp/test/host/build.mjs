// Builds a page around Headlamp's compiled library into build/host. The page has no icons. Its
// labels are the untranslated keys, which are in English.
import { copyFileSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

const at = (path) => fileURLToPath(new URL(path, import.meta.url));
const esbuild = createRequire(at("../../package.json"))("esbuild");
const outdir = at("../../build/host");

const assets = {
  name: "assets",
  setup({ onResolve, onLoad }) {
    onLoad({ filter: /lib.i18n.config\.js$/ }, ({ path }) => ({ contents: readFileSync(path, "utf8").replace(/import\(`[^`]*`\)/, "Promise.resolve({ default: {} })") }));
    onResolve({ filter: /\.svg(\?\w+)?$/ }, ({ path }) => ({ path, namespace: "image" }));
    onLoad({ filter: /./, namespace: "image" }, () => ({ contents: 'export const ReactComponent = () => null; export default "data:,";', loader: "js" }));
  },
};

rmSync(outdir, { recursive: true, force: true });
await esbuild.build({
  entryPoints: { host: at("host.jsx") },
  outdir,
  bundle: true,
  format: "esm",
  target: "es2022",
  jsx: "automatic",
  logLevel: "error",
  loader: { ".ttf": "file", ".woff": "file", ".woff2": "file", ".png": "file" },
  define: { global: "globalThis", "process.env": "{}", "process.platform": '""', "process.env.NODE_ENV": '"production"', "import.meta.env": "{}" },
  alias: { path: "path-browserify" },
  plugins: [assets],
});
copyFileSync(at("index.html"), `${outdir}/index.html`);
