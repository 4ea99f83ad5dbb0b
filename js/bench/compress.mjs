// node compress.js FILE...: prints a JSON array with the size of each file in bytes after
// compression with brotli -q 11.
import { readFileSync } from "node:fs";
import { brotliCompressSync, constants } from "node:zlib";

const { BROTLI_PARAM_QUALITY, BROTLI_PARAM_LGWIN, BROTLI_PARAM_SIZE_HINT } = constants;
const size = (file) => {
  const bytes = readFileSync(file);
  return brotliCompressSync(bytes, {
    params: { [BROTLI_PARAM_QUALITY]: 11, [BROTLI_PARAM_LGWIN]: 24, [BROTLI_PARAM_SIZE_HINT]: bytes.length },
  }).length;
};
console.log(JSON.stringify(process.argv.slice(2).map(size)));
